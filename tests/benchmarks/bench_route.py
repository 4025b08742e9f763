"""Speed and memory of ``skillctl route``, next to the reference loop in the same run."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measure import SKILLCTL, run_alternately
from synthetic import MODE, write_handbook, write_queries

from skillctl.store.handbook_dir import load_handbook

if TYPE_CHECKING:
    from skillctl.model.handbook import Handbook, Profile

_HERE = Path(__file__).parent
_SIZES = ((10, 6), (1000, 6), (10, 100), (1000, 100))


def run(*, quick: bool) -> dict[str, Any]:
    """Return the measured figures."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        return {
            "against_reference": _compare(work, 5_000 if quick else 100_000, 1 if quick else 3),
            "scaling": _scale(work, 5_000 if quick else 20_000, 1 if quick else 3),
            "memory": _weigh(work, *((2_000, 20_000) if quick else (10_000, 1_000_000))),
        }


def _compare(work: Path, count: int, repeats: int) -> dict[str, Any]:
    root = write_handbook(work / "compare", 20, 6)
    handbook = load_handbook(root)
    table = work / "table.json"
    table.write_text(json.dumps(_reference_table(handbook)), encoding="utf-8")
    plain = write_queries(work / "plain.jsonl", count, handbook)
    given = write_queries(work / "given.jsonl", count, handbook, given=True)
    reference = [SKILLCTL[0], str(_HERE / "reference_loop.py"), str(table)]
    commands = {
        "reference": [*reference, str(plain), str(work / "reference.out")],
        "embedded_jobs_1": _route(root, plain, work / "1.out"),
        "embedded_jobs_2": [*_route(root, plain, work / "2.out"), "--jobs", "2"],
        "given_jobs_1": _route(root, given, work / "3.out"),
    }
    run_alternately({"warm": _route(root, given, work / "3.out")}, work / "cache", 1)
    runs = run_alternately(commands, work / "cache", repeats)
    base = runs["reference"]
    return {
        "lines": count,
        "lines_per_s": {name: round(count / run.wall_s) for name, run in runs.items()},
        "times_reference": {name: round(base.wall_s / run.wall_s, 2) for name, run in runs.items()},
        "times_reference_by_cpu": {name: round(base.cpu_s / run.cpu_s, 2) for name, run in runs.items()},
    }


def _scale(work: Path, count: int, repeats: int) -> dict[str, Any]:
    commands, empty = {}, work / "empty.jsonl"
    empty.write_text("", encoding="utf-8")
    for skills, agents in _SIZES:
        root = write_handbook(work / f"{skills}x{agents}", skills, agents)
        queries = write_queries(work / f"{skills}x{agents}.jsonl", count, load_handbook(root))
        commands[f"{skills}x{agents}"] = _route(root, queries, work / "out")
        commands[f"{skills}x{agents} start"] = _route(root, empty, work / "out")
    run_alternately(commands, work / "cache", 1)
    runs = run_alternately(commands, work / "cache", repeats)
    each = {f"{s}x{a}": (runs[f"{s}x{a}"].wall_s - runs[f"{s}x{a} start"].wall_s) / count * 1e6 for s, a in _SIZES}
    return {
        "us_per_decision": {name: round(us, 1) for name, us in each.items()},
        "growth": {name: round(us / each["10x6"], 2) for name, us in each.items()},
    }


def _weigh(work: Path, few: int, many: int) -> dict[str, Any]:
    root = write_handbook(work / "memory", 20, 6)
    handbook = load_handbook(root)
    commands = {
        str(count): _route(root, write_queries(work / f"{count}.jsonl", count, handbook), work / "out")
        for count in (few, many)
    }
    runs = run_alternately(commands, work / "cache", 1)
    peaks = {name: round(run.peak_mb, 1) for name, run in runs.items()}
    return {"peak_mb": peaks, "growth": round(peaks[str(many)] / peaks[str(few)], 3)}


def _route(root: Path, queries: Path, out: Path) -> list[str]:
    return [*SKILLCTL, "-q", "route", str(root), "--in", str(queries), "--out", str(out)]


def _reference_table(handbook: Handbook) -> dict[str, Any]:
    return {
        "mode": MODE,
        "cost_weight": 0.0,
        "indicators": {skill.id: [term.text for term in skill.indicators] for skill in handbook.skills[MODE]},
        "agents": {agent.id: {"profiles": {MODE: _plain(agent.profiles[MODE])}} for agent in handbook.agents.values()},
    }


def _plain(profile: Profile) -> dict[str, Any]:
    competence = {skill: {"alpha": e.alpha, "beta": e.beta} for skill, e in profile.competence.items()}
    return {"cost": {"mean_usd": profile.cost.mean_usd}, "competence": competence}
