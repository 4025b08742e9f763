"""Pool files: agents without a handbook, read as strictly as a handbook."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from skillctl.errors import InvalidHandbookError
from skillctl.store.pool_file import load_pool

if TYPE_CHECKING:
    from pathlib import Path

POOL = """\
agents:
- agent: no
  model: openai/x
  modes: [answer, code]
  price: {prompt_usd_per_mtok: 4e-7, completion_usd_per_mtok: 0}
  params: {temperature: 0, max_tokens: 200}
- agent: calc
  command: [python, tools/calc.py]
"""


def test_a_pool_is_a_handbook_without_skills(tmp_path: Path) -> None:
    path = tmp_path / "pool.yaml"
    path.write_text(POOL)
    pool = load_pool(path)
    assert list(pool.agents) == ["no", "calc"]
    assert list(pool.modes) == ["answer", "code"]
    agent = next(iter(pool.agents.values()))
    assert agent.price is not None
    assert (agent.price.prompt_usd_per_mtok, agent.params["max_tokens"]) == (4e-7, 200)


def test_a_pool_may_be_json(tmp_path: Path) -> None:
    path = tmp_path / "pool.json"
    path.write_text(json.dumps({"agents": [{"agent": "a", "model": "m", "params": {"temperature": 0}}]}))
    assert list(load_pool(path).agents) == ["a"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[]", "a list of agents"),
        ("", "empty|a list of agents"),
        ("agents: 3", "a list of agents"),
        ("agents: []\nagent: x", "unknown key 'agent'"),
        ("agents: []\nagents: []", "unknown key 'agents'"),
        ("agents:\n- model: m", r"::\$.agents\[0\].*agent.* is missing"),
        ("agents:\n- agent: a\n  modle: m", r"pool.yaml:3::\$.agents\[0\].*modle"),
        ("agents:\n- {agent: a, model: m}\n- {agent: a, model: n}", "stands twice"),
        ("agents:\n- {agent: a, model: m, command: [x]}", "both `model` and `command`"),
        ("agents: [\n", "pool.yaml:"),
    ],
)
def test_every_problem_is_named_with_its_place(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "pool.yaml"
    path.write_text(text)
    with pytest.raises(InvalidHandbookError) as caught:
        load_pool(path)
    assert __import__("re").search(problem, "\n".join(caught.value.problems)), caught.value.problems
