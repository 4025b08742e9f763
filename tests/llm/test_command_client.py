"""Programs as agents, with real processes."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

from skillctl.errors import OutsideError
from skillctl.llm import programs
from skillctl.llm.base import Completion, Request
from skillctl.llm.command_client import CommandClient
from skillctl.llm.programs import ProgramRunner

PYTHON = ("python", "-S", "-E", "tool.py")


def ask(folder: Path, program: str, **fields: object) -> Completion:
    (folder / "tool.py").write_text("import json, os, sys, time\n" + program, encoding="utf-8")
    request = Request(
        "calc",
        ({"role": "user", "content": "6*7?"},),
        command=PYTHON,
        folder=folder,
        query="6*7?",
        query_id=7,
        mode="answer",
        **{"timeout_s": 20.0, **fields},  # type: ignore[arg-type]
    )
    return CommandClient(ProgramRunner()).complete(request)


def test_a_program_gets_the_request_and_runs_in_the_folder(tmp_path: Path) -> None:
    program = "print(json.dumps({'answer': sys.stdin.read() + os.getcwd(), 'cost_usd': 0.5, 'prompt_tokens': 3}))"
    reply = ask(tmp_path, program)
    request, _, folder = reply.text.rpartition("}")
    assert json.loads(request + "}") == {
        "query": "6*7?",
        "messages": [{"role": "user", "content": "6*7?"}],
        "mode": "answer",
        "agent": "calc",
        "id": 7,
    }
    assert Path(folder).resolve() == tmp_path.resolve()
    assert (reply.cost_usd, reply.prompt_tokens, reply.completion_tokens) == (0.5, 3, None)
    assert reply.latency_s is not None


def test_a_program_that_reports_no_cost_has_an_unknown_one(tmp_path: Path) -> None:
    assert ask(tmp_path, 'print(\'{"answer": "42"}\')').cost_usd is None


@pytest.mark.parametrize(
    ("program", "code", "message"),
    [
        ("sys.exit('it broke')", "command_failed", "exit code 1: it broke"),
        ("print('no json')", "bad_reply", "no JSON"),
        ("pass", "bad_reply", "no JSON"),
        ("print('[]')", "bad_reply", "must print"),
        ("print('{\"answer\": 42}')", "bad_reply", "must print"),
        ('print(\'{"answer": "x", "cost_usd": -1}\')', "bad_reply", "cost_usd"),
        ('print(\'{"answer": "x", "prompt_tokens": true}\')', "bad_reply", "prompt_tokens"),
        ("os.kill(os.getpid(), 9)", "command_failed", "exit code -9"),
    ],
)
def test_a_program_that_fails_is_an_outside_failure(tmp_path: Path, program: str, code: str, message: str) -> None:
    with pytest.raises(OutsideError, match=message) as caught:
        ask(tmp_path, program)
    assert caught.value.code == code


def test_a_program_that_is_not_there_is_an_outside_failure(tmp_path: Path) -> None:
    request = Request("a", (), command=("./no-such-program",), folder=tmp_path)
    with pytest.raises(OutsideError, match=r"cannot start '\./no-such-program'"):
        CommandClient(ProgramRunner()).complete(request)


def test_a_command_is_never_a_shell_line(tmp_path: Path) -> None:
    (tmp_path / "tool.py").write_text("import json, sys\nprint(json.dumps({'answer': sys.argv[1]}))")
    request = Request("a", (), command=(*PYTHON, "$(touch x); `y` && z"), folder=tmp_path)
    assert CommandClient(ProgramRunner()).complete(request).text == "$(touch x); `y` && z"


def test_a_slow_program_is_ended_with_its_children(tmp_path: Path) -> None:
    child = "import time,pathlib; time.sleep(1.2); pathlib.Path('survived').touch()"
    program = f"import subprocess\nsubprocess.Popen([sys.executable, '-S', '-c', {child!r}])\ntime.sleep(60)"
    start = time.monotonic()
    with pytest.raises(OutsideError, match=r"longer than 0\.6 s") as caught:
        ask(tmp_path, program, timeout_s=0.6)
    assert caught.value.code == "timeout"
    assert time.monotonic() - start < 30
    time.sleep(1.3)
    assert not (tmp_path / "survived").exists()


def test_too_much_output_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "MAX_OUTPUT_BYTES", 1000)
    with pytest.raises(OutsideError, match="more than 1000 bytes"):
        ask(tmp_path, "while True: print('x' * 1000)")


def test_a_large_request_and_much_stderr_do_not_block(tmp_path: Path) -> None:
    program = "sys.stderr.write('e' * 1_000_000)\nprint('{\"answer\": \"42\"}')"
    big = ({"role": "user", "content": "x" * 1_000_000},)
    assert ask(tmp_path, program).text == "42"
    (tmp_path / "tool.py").write_text('print(\'{"answer": "unread"}\')')
    request = Request("a", big, command=PYTHON, folder=tmp_path, timeout_s=20.0)
    assert CommandClient(ProgramRunner()).complete(request).text == "unread"


def test_an_interrupted_run_ends_its_programs_and_starts_no_other(tmp_path: Path) -> None:
    (tmp_path / "tool.py").write_text("import time\nopen('started', 'w').close()\ntime.sleep(60)")
    runner = ProgramRunner()
    request = Request("a", (), command=PYTHON, folder=tmp_path, timeout_s=60.0)

    def stop_once_started() -> None:
        while not (tmp_path / "started").exists():
            time.sleep(0.01)
        runner.stop()

    threading.Thread(target=stop_once_started, daemon=True).start()
    with pytest.raises(OutsideError, match="exit code -9"):
        CommandClient(runner).complete(request)
    with pytest.raises(OutsideError, match="interrupted"):
        CommandClient(runner).complete(request)
