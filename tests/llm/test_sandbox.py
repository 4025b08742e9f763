"""Code that models write is contained; every case runs a real process, bounded so that a hole harms nothing."""

from __future__ import annotations

import socket
import sys
import threading
import time
from pathlib import Path

import pytest

from skillctl.errors import InputError
from skillctl.llm.sandbox import MEASURES, Sandbox, SandboxLimits, find_uncontained, refuse_uncontained

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or bool(find_uncontained()), reason="this machine cannot contain code: `run` refuses here"
)

_LIMITS = SandboxLimits(timeout_s=5.0, memory_mb=256)


@pytest.fixture
def sandbox() -> Sandbox:
    return Sandbox(_LIMITS)


def test_code_that_ends_gives_what_it_printed(sandbox: Sandbox) -> None:
    result = sandbox.run("import datetime, math\nprint(math.factorial(5), datetime.date(2024, 2, 29))")
    assert (result.output, result.exit_code, result.is_ok) == ("120 2024-02-29\n", 0, True)


def test_an_exception_is_a_result_with_its_traceback(sandbox: Sandbox) -> None:
    result = sandbox.run("def f():\n    return 1 / 0\nf()")
    assert (result.exit_code, result.fault, result.is_ok) == (1, None, False)
    assert result.notes.startswith('Traceback (most recent call last):\n  File "<code>", line 3')
    assert "ZeroDivisionError" in result.notes
    assert "sandbox_child" not in result.notes


@pytest.mark.parametrize(
    ("code", "status"), [("raise SystemExit(3)", 3), ("import sys; sys.exit('no')", 1), ("x =", 1)]
)
def test_an_exit_status_is_passed_on(sandbox: Sandbox, code: str, status: int) -> None:
    assert sandbox.run(code).exit_code == status


def test_an_endless_loop_is_ended_by_the_clock() -> None:
    started = time.monotonic()
    result = Sandbox(SandboxLimits(timeout_s=0.5)).run("while True: pass")
    assert (result.fault, result.is_ok) == ("timeout", False)
    assert time.monotonic() - started < 4


def test_sleeping_and_closing_all_files_does_not_outlive_the_clock() -> None:
    code = "import os, time\nfor fd in range(64):\n    try: os.close(fd)\n    except OSError: pass\ntime.sleep(60)"
    assert Sandbox(SandboxLimits(timeout_s=0.5)).run(code).fault == "timeout"


def test_runaway_children_are_denied(sandbox: Sandbox) -> None:
    # At most 200 children that end at once: even without a sandbox this would do no harm.
    code = (
        "import os\nmade = 0\nfor _ in range(200):\n"
        "    try:\n        child = os.fork()\n    except OSError:\n        continue\n"
        "    if child == 0:\n        os._exit(0)\n    made += 1\nprint(made)"
    )
    assert sandbox.run(code).output == "0\n"


@pytest.mark.parametrize(
    "code",
    [
        "import subprocess; subprocess.run(['true'])",
        "import os; os.execv('/bin/true', ['true'])",
        "import os; os.posix_spawn('/bin/true', ['true'], {})",
        "import multiprocessing as m; p = m.get_context('fork').Process(target=print); p.start()",
    ],
    ids=["subprocess", "exec", "spawn", "multiprocessing"],
)
def test_no_program_is_started(sandbox: Sandbox, code: str) -> None:
    result = sandbox.run(code)
    assert "PermissionError" in result.notes


def test_threads_are_allowed(sandbox: Sandbox) -> None:
    code = "import threading\nt = threading.Thread(target=print, args=('in a thread',))\nt.start(); t.join()"
    assert sandbox.run(code).output == "in a thread\n"


def test_nothing_is_written_outside_its_folder(sandbox: Sandbox, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("safe", encoding="utf-8")
    code = (
        f"import os\nfor attempt in (lambda: open({str(victim)!r}, 'w'), lambda: os.remove({str(victim)!r}),\n"
        f"        lambda: os.chmod({str(victim)!r}, 0o777), lambda: open({str(tmp_path / 'new')!r}, 'w'),\n"
        f"        lambda: os.truncate({str(victim)!r}, 0), lambda: os.rename({str(victim)!r}, 'x'),\n"
        f"        lambda: os.link({str(victim)!r}, 'x'), lambda: os.utime({str(victim)!r}, (1, 1))):\n"
        "    try: attempt()\n    except OSError: print('denied')\n    else: print('HOLE')"
    )
    assert sandbox.run(code).output == "denied\n" * 8
    assert [path.name for path in tmp_path.iterdir()] == ["victim"]
    assert victim.read_text(encoding="utf-8") == "safe"


def test_its_own_folder_can_be_written_and_is_small_and_gone_afterwards(sandbox: Sandbox) -> None:
    code = (
        "import os\nopen('a', 'w').write('kept')\nprint(open('a').read(), os.getcwd())\n"
        "try:\n    for n in range(64):\n        open(f'f{n}', 'wb').write(bytes(1_000_000))\n"
        "except OSError as e: print(e.errno)"
    )
    result = sandbox.run(code)
    if "PermissionError" in result.notes:
        pytest.skip("without namespaces nothing is written at all")
    first, second = result.output.splitlines()
    text, folder = first.split()
    assert (text, second) == ("kept", "28")
    assert not Path(folder).exists()


def test_the_network_is_out_of_reach(sandbox: Sandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        port = server.getsockname()[1]
        result = sandbox.run(f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 1)")
        assert "PermissionError" in result.notes
        with pytest.raises(TimeoutError):
            server.accept()


def test_a_gigabyte_of_output_is_cut(sandbox: Sandbox) -> None:
    result = sandbox.run("import sys\nfor _ in range(1000): sys.stdout.write('x' * 1_000_000)")
    assert result.fault == "output"
    assert len(result.output) == _LIMITS.output_bytes


def test_a_gigabyte_of_errors_is_cut(sandbox: Sandbox) -> None:
    assert sandbox.run("import sys\nfor _ in range(1000): sys.stderr.write('x' * 1_000_000)").fault == "output"


def test_a_gigabyte_of_memory_is_an_error_of_the_code(sandbox: Sandbox) -> None:
    result = sandbox.run("x = bytearray(1_000_000_000)")
    assert "MemoryError" in result.notes


def test_a_crash_of_the_interpreter_is_reported(sandbox: Sandbox) -> None:
    result = sandbox.run("import os; os.abort()")
    assert (result.fault, result.is_ok) == ("crash", False)


@pytest.mark.parametrize("target", ["1", "os.getppid()", "-1"])
def test_no_other_process_can_be_ended(sandbox: Sandbox, target: str) -> None:
    assert "PermissionError" in sandbox.run(f"import os; os.kill({target}, 9)").notes


def test_no_power_can_be_won_back(sandbox: Sandbox) -> None:
    code = "import ctypes\nc = ctypes.CDLL(None)\nprint(c.unshare(0x10000000), c.mount(b'/', b'/', None, 32, None))"
    assert sandbox.run(code).output == "-1 -1\n"


def test_the_environment_holds_no_keys(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "s3cret")
    assert "s3cret" not in sandbox.run("import os; print(dict(os.environ))").output


def test_where_a_measure_cannot_be_taken_no_code_runs() -> None:
    result = Sandbox(_LIMITS, required=(*MEASURES, "gravity")).run("print('ran')")
    assert (result.fault, result.missing, result.output) == ("refused", ("gravity",), "")
    with pytest.raises(InputError, match=r"no limit of gravity.*--unsafe-sandbox"):
        refuse_uncontained(result.missing)


def test_stopping_ends_what_runs(sandbox: Sandbox) -> None:
    results = []
    thread = threading.Thread(target=lambda: results.append(sandbox.run("import time; time.sleep(60)")))
    thread.start()
    time.sleep(0.4)
    sandbox.stop()
    thread.join(timeout=3)
    assert not results[0].is_ok


def test_many_run_at_once(sandbox: Sandbox) -> None:
    outputs: dict[int, str] = {}

    def work(number: int) -> None:
        outputs[number] = sandbox.run(f"print({number})").output

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outputs == {number: f"{number}\n" for number in range(6)}
