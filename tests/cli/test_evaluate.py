"""``skillctl evaluate`` through the command line."""

from __future__ import annotations

import json
import subprocess
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from planted import make_handbook, make_traces, write_traces

from skillctl.store.schema import load_schema

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run


@pytest.fixture
def book(tmp_path: Path, run: Run) -> Path:
    return make_handbook(tmp_path, run)


@pytest.fixture
def held_out(tmp_path: Path) -> Path:
    return write_traces(tmp_path / "test.jsonl", make_traces(80, seed=2, first=1000))


def _evaluate(run: Run, book: Path, *args: str | Path) -> dict[str, Any]:
    result = run("evaluate", book, "--orchestrator", "logged", "-o", "json", *args)
    assert result.exit_code in {0, 1}, result.stderr
    report = json.loads(result.stdout)
    jsonschema.Draft202012Validator(load_schema("evaluation")).validate(report)
    return report


def _expected_accuracy(traces: list[dict[str, Any]]) -> float:
    """Return the accuracy of the agent that masters each query's skill."""
    master = {"sums": "adder", "rhymes": "poet"}
    own = [trace["success"] for trace in traces if trace["agent"] == master[trace["task"]]]
    return sum(own) / len(own)


def test_a_complete_log_is_replayed_exactly(run: Run, book: Path, held_out: Path) -> None:
    report = _evaluate(run, book, "--traces", held_out)
    metrics = report["metrics"]
    assert metrics["accuracy"]["value"] == pytest.approx(_expected_accuracy(make_traces(80, seed=2, first=1000)))
    assert metrics["accuracy"]["low"] <= metrics["accuracy"]["value"] <= metrics["accuracy"]["high"]
    assert report["queries"] == 80
    assert report["coverage"]["dr"]["value"] == pytest.approx(metrics["accuracy"]["value"], abs=1e-5)
    assert metrics["headroom"]["value"] > 0.5
    assert metrics["apgr"]["value"] is None
    assert report["baselines"]["best_single"]["headroom"]["value"] == 0.0
    assert {row["task"] for row in report["per_task"]} == {"sums", "rhymes"}
    assert sum(share["share"] for share in report["shares"].values()) == pytest.approx(1)
    assert {
        "random", "cheapest", "best_single", "knn", "cluster_mean", "ridge", "raw_rate", "oracle", "single_agent_hull",
    } == set(report["baselines"])  # fmt: skip


def test_the_same_seed_gives_the_same_report_and_another_one_other_intervals(
    run: Run, book: Path, held_out: Path
) -> None:
    first, again, other = (_evaluate(run, book, "--traces", held_out, "--seed", seed) for seed in ("3", "3", "4"))
    assert first == again
    assert first["metrics"]["accuracy"]["value"] == other["metrics"]["accuracy"]["value"]
    assert first["metrics"]["ece"] != other["metrics"]["ece"]


def test_a_high_cost_weight_moves_traffic_to_the_cheapest(run: Run, book: Path, held_out: Path) -> None:
    report = _evaluate(run, book, "--traces", held_out, "--lambda", "1000")
    assert report["shares"]["adder"]["share"] == 1.0
    assert report["metrics"]["mean_cost_usd"]["value"] == pytest.approx(0.01)


def test_unknown_costs_are_null_and_never_zero(run: Run, book: Path, tmp_path: Path) -> None:
    traces = [{k: v for k, v in trace.items() if k != "cost_usd"} for trace in make_traces(20, seed=5, first=500)]
    report = _evaluate(run, book, "--traces", write_traces(tmp_path / "bare.jsonl", traces))
    for metric in ("mean_cost_usd", "aiq", "cost_at_best_single_accuracy"):
        assert report["metrics"][metric] == {"value": None, "low": None, "high": None}


def test_what_cannot_be_replayed_is_left_out_and_said(run: Run, book: Path, tmp_path: Path) -> None:
    traces = make_traces(20, seed=6, first=500)
    odd = [
        {**traces[0], "agent": "stranger"},
        {**traces[0], "mode": "odd"},
        {**traces[1], "query_id": "z", "success": None},
    ]
    log = write_traces(tmp_path / "odd.jsonl", [*traces, *odd, traces[3]])
    report = _evaluate(run, book, "--traces", log)
    assert report["log"]["unknown_agents"] == {"stranger": 1}
    assert report["log"]["unknown_modes"] == {"odd": 1}
    assert report["log"]["no_verdict"] == 1
    assert report["log"]["duplicates"] == 1
    assert report["queries"] == 20


def test_traces_that_were_counted_as_evidence_are_no_fair_test(run: Run, book: Path, held_out: Path) -> None:
    assert _evaluate(run, book, "--traces", held_out)["log"]["counted_before"] is False
    assert _evaluate(run, book, "--traces", book.parent / "train.jsonl")["log"]["counted_before"] is True
    assert "results flatter it" in run("evaluate", book, "--traces", book.parent / "train.jsonl").stdout


def test_a_bad_line_is_reported_and_the_exit_code_says_so(run: Run, book: Path, held_out: Path) -> None:
    with held_out.open("a", encoding="utf-8") as file:
        file.write("{broken\n")
    result = run("evaluate", book, "--traces", held_out)
    assert result.exit_code == 1
    assert f"{held_out}:241" in result.stderr
    assert "1 lines could not be used" in result.stdout


def test_a_partial_log_chooses_among_logged_agents_and_estimates_the_rest(run: Run, book: Path, tmp_path: Path) -> None:
    traces = make_traces(60, seed=7, first=500)
    partial = [trace for number, trace in enumerate(traces) if number % 4]
    report = _evaluate(run, book, "--traces", write_traces(tmp_path / "partial.jsonl", partial))
    coverage = report["coverage"]
    assert coverage["complete_queries"] < coverage["queries"]
    assert 0.5 < coverage["matched"] < 1
    assert abs(coverage["dr"]["value"] - _expected_accuracy(traces)) < 0.1


def test_where_each_query_has_one_agent_only_the_doubly_robust_accuracy_is_known(
    run: Run, book: Path, tmp_path: Path
) -> None:
    traces = [
        trace for number, trace in enumerate(make_traces(120, seed=8, first=500)) if number % 3 == number // 3 % 3
    ]
    log = write_traces(tmp_path / "one.jsonl", traces)
    report = _evaluate(run, book, "--traces", log)
    assert report["metrics"]["accuracy"] == report["coverage"]["dr"]
    assert report["metrics"]["headroom"]["value"] is None
    assert report["log"]["left_out_queries"] == 120
    assert run("evaluate", book, "--traces", log, "--fail-under", "snips=0.99").exit_code == 1


def test_baselines_learn_from_other_traces_and_never_from_tested_queries(
    run: Run, book: Path, held_out: Path, tmp_path: Path
) -> None:
    report = _evaluate(run, book, "--traces", held_out, "--baseline-traces", tmp_path / "train.jsonl")
    assert report["training"] == {"source": "the training traces", "queries": 60}
    result = run("evaluate", book, "--traces", held_out, "--baseline-traces", held_out)
    assert result.exit_code == 3
    assert "80 queries are in the training traces and in the held-out ones" in result.stderr


def test_a_cascade_reaches_more_than_any_single_agent_and_pays_for_every_try(
    run: Run, book: Path, held_out: Path
) -> None:
    single = _evaluate(run, book, "--traces", held_out)
    report = _evaluate(run, book, "--traces", held_out, "--policy", "cascade", "--lambda", "0.1")
    assert report["metrics"]["accuracy"]["value"] > single["metrics"]["accuracy"]["value"]
    best = report["baselines"]["best_single"]["mean_cost_usd"]["value"]
    assert report["metrics"]["cost_at_best_single_accuracy"]["value"] < best


def test_several_orchestrators_stand_side_by_side(run: Run, book: Path, held_out: Path) -> None:
    report = _evaluate(run, book, "--traces", held_out, "--orchestrator", "embedded")
    assert list(report["orchestrators"]) == ["logged", "embedded"]
    text = run("evaluate", book, "--traces", held_out, "--orchestrator", "logged", "--orchestrator", "embedded").stdout
    assert "Orchestrators" in text


def test_a_gate_fails_with_exit_code_1_and_says_why(run: Run, book: Path, held_out: Path) -> None:
    args = ("evaluate", book, "--traces", held_out, "--orchestrator", "logged")
    assert run(*args, "--fail-under", "accuracy=0.5", "--fail-under", "brier=0.3").exit_code == 0
    failed = run(*args, "--fail-under", "accuracy=0.999")
    assert failed.exit_code == 1
    assert "FAILED: accuracy is 0.9" in failed.stdout
    assert run(*args, "--fail-under", "brier=0.001").exit_code == 1, "less is better: it is an upper bound"
    assert run(*args, "--fail-under", "apgr=0.1").exit_code == 1, "nothing measured keeps no bound"


@pytest.mark.parametrize(
    ("bound", "message"), [("acuracy=1", "there is no metric 'acuracy'"), ("accuracy", "takes METRIC=VALUE")]
)
def test_a_gate_that_makes_no_sense_is_wrong_usage(
    run: Run, book: Path, held_out: Path, bound: str, message: str
) -> None:
    result = run("evaluate", book, "--traces", held_out, "--fail-under", bound)
    assert result.exit_code == 2
    assert message in result.stderr


def _spoil(book: Path) -> None:
    """Swap what the handbook believes of the two specialists."""
    files = {
        path.read_text(encoding="utf-8").split("agent: ")[1].split("\n")[0]: path for path in book.glob("agents/*")
    }
    one, other = files["adder"].read_text(encoding="utf-8"), files["poet"].read_text(encoding="utf-8")
    files["adder"].write_text(one.split("profiles:")[0] + "profiles:" + other.split("profiles:")[1], encoding="utf-8")
    files["poet"].write_text(other.split("profiles:")[0] + "profiles:" + one.split("profiles:")[1], encoding="utf-8")


def test_in_a_git_repository_a_bad_change_fails_the_gate_and_mending_it_passes(
    run: Run, book: Path, held_out: Path, git_repo: Path
) -> None:
    home = git_repo / "book"
    book.rename(home)

    def commit(message: str) -> None:
        for command in (["add", "-A"], ["commit", "-qm", message]):
            subprocess.run(["git", "-C", str(git_repo), *command], check=True)

    commit("good")
    _spoil(home)
    commit("bad")
    args = ("evaluate", home, "--traces", held_out, "--orchestrator", "logged", "--not-worse-than")
    failed = run(*args, "HEAD~1")
    assert failed.exit_code == 1
    assert "FAILED: worse than HEAD~1" in failed.stdout
    _spoil(home)
    commit("mended")
    passed = run(*args, "HEAD~1")
    assert passed.exit_code == 0
    assert "passed: not worse than HEAD~1" in passed.stdout
    assert run(*args, "no-such-revision").exit_code == 3


def test_a_handbook_is_not_worse_than_itself(run: Run, book: Path, held_out: Path) -> None:
    report = _evaluate(run, book, "--traces", held_out, "--not-worse-than", book)
    assert report["comparison"]["accuracy"] == {"value": 0.0, "low": 0.0, "high": 0.0}
    assert report["comparison"]["worse"] is False


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in {"src", "href"} and value]


def test_the_page_needs_no_network_no_script_and_escapes_ids(
    run: Run, book: Path, held_out: Path, tmp_path: Path
) -> None:
    target = tmp_path / "page.html"
    assert run("evaluate", book, "--traces", held_out, "--orchestrator", "logged", "--html", target).exit_code == 0
    text = target.read_text(encoding="utf-8")
    page = _Page()
    page.feed(text)
    assert page.tags.count("svg") == 4
    assert page.links == []
    assert "script" not in page.tags
    assert "all" not in page.tags
    assert "&lt;all&gt; &amp; round" in text
    assert "prefers-color-scheme:dark" in text


def test_markdown_has_headings_and_tables(run: Run, book: Path, held_out: Path) -> None:
    text = run("evaluate", book, "--traces", held_out, "--orchestrator", "logged", "-o", "markdown").stdout
    assert "## Beside the baselines" in text
    assert "|" in text


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        (("--mode", "cook"), (2, "the handbook has no mode 'cook'")),
        (("--orchestrator", "nobody"), (2, "there is no orchestrator 'nobody'")),
        (("--traces", "missing.jsonl"), (3, "missing.jsonl")),
    ],
)
def test_wrong_options_say_what_to_do(
    run: Run, book: Path, held_out: Path, args: tuple[str, ...], fault: tuple[int, str]
) -> None:
    result = run("evaluate", book, "--traces", held_out, *args)
    assert result.exit_code == fault[0]
    assert fault[1] in result.stderr


def test_traces_of_strangers_alone_cannot_be_replayed(run: Run, book: Path, tmp_path: Path) -> None:
    log = write_traces(tmp_path / "strange.jsonl", [{"query": "x", "agent": "stranger", "success": True}])
    result = run("evaluate", book, "--traces", log)
    assert result.exit_code == 3
    assert "no trace has a verdict on an agent of the handbook" in result.stderr
