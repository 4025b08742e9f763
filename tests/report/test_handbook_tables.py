from __future__ import annotations

import pytest

from skillctl.core.profile.standing import Scope
from skillctl.model.handbook import Action, Handbook, Skill
from skillctl.report.handbook_tables import describe_action, render_handbook, walk_tree


def _skill(name: str, parent: str | None = None) -> Skill:
    return Skill(name, "d", parent=parent)  # type: ignore[arg-type]


def test_parents_come_before_children_whatever_their_ids() -> None:
    skills = (_skill("a", "z"), _skill("b", "a"), _skill("c"), _skill("z"))
    walked = [(depth, skill.id) for depth, skill in walk_tree(skills)]
    assert walked == [(0, "c"), (0, "z"), (1, "a"), (2, "b")]


def test_a_deep_tree_does_not_exhaust_the_stack() -> None:
    skills = tuple(_skill(f"{n:05}", f"{n - 1:05}" if n else None) for n in range(5000))
    assert len(list(walk_tree(skills))) == 5000


def test_an_empty_handbook_has_a_title_and_no_empty_tables() -> None:
    shown = render_handbook(Handbook("h"), [], Scope(), markdown=False)
    assert shown == "h\n\ndefault mode none, lambda 0\n"


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (None, "answer"),
        (Action("answer", is_final=False), "answer, not final"),
        (Action("code", timeout_s=2.0, memory_mb=64), "code, 2 s, 64 MB"),
        (Action("code", is_final=True), "code, final"),
        (Action("search", corpus="docs", results=3), "search docs, 3 results"),
        (Action("search", url="http://x/?q={query}"), "search http://x/?q={query}"),
        (Action("command", command=("python", "x.py"), is_final=True), "command python x.py, final"),
    ],
)
def test_an_action_is_said_in_a_few_words(action: Action | None, words: str) -> None:
    assert describe_action(action) == words
