from __future__ import annotations

from skillctl.model.handbook import Agent, AgentId, Competence, CostStats, Handbook, Mode, ModeId, Profile
from skillctl.report.profile_report import Counts, render_counts, render_profile

_ANSWER = ModeId("answer")
_CLEAN = Counts(1200, 1200, 0, 0, 0, 0, {}, {})


def _handbook() -> Handbook:
    tried = Profile(4, CostStats(0.5, 0.0, 4), {"answer": Competence(4.0, 2.0, 3.0, 1.0)})
    agents = [
        Agent(AgentId("1e3"), modes=(_ANSWER,), profiles={_ANSWER: tried}),
        Agent(AgentId("x|y"), modes=(_ANSWER,), profiles={_ANSWER: Profile(signals=("words alone",))}),
    ]
    return Handbook("h", modes={_ANSWER: Mode(_ANSWER)}, agents={agent.id: agent for agent in agents})


def test_a_table_says_what_is_known_and_what_is_not() -> None:
    assert [line.split() for line in render_profile(_handbook(), markdown=False).splitlines()[2:]] == [
        ["answer", "1e3", "4", "0.667", "0.343", "to", "0.924", "$0.5", "0"],
        ["answer", "x|y", "0", "no", "verdict", "unknown", "0"],
    ]


def test_markdown_keeps_ids_in_their_cells() -> None:
    assert "x\\|y" in render_profile(_handbook(), markdown=True)


def test_a_clean_log_is_one_sentence() -> None:
    assert render_counts(_CLEAN) == ["read 1,200 traces, counted 1,200"]


def test_everything_that_was_left_out_is_said() -> None:
    counts = _CLEAN._replace(
        no_verdict=1, duplicates=2, conflicts=3, bad_lines=4, unknown={"x": 5}, dropped_skills={"s": 6}
    )
    said = "\n".join(render_counts(counts))
    assert all(str(number) in said for number in range(1, 7))
