from __future__ import annotations

import orjson
from hypothesis import given
from hypothesis import strategies as st

from skillctl.core.run.conversation import Conversation, Decision, Turn, read_state
from skillctl.core.run.exploring import ExploreQuery
from skillctl.core.run.loop import Finished, Stop
from skillctl.core.run.run_trace import build_run_trace
from skillctl.store.traces import parse_trace

_TEXTS = st.text(max_size=5) | st.sampled_from(["long " * 100, "two\nlines"])
_FOUND = st.builds(
    Turn,
    st.builds(Decision, st.sampled_from(["search", "code"]), st.sampled_from(["a", "b"])),
    action=_TEXTS,
    observation=_TEXTS,
    succeeded=st.booleans(),
)
_BROKEN = st.builds(Turn, st.just(Decision("search", "a")), observation=_TEXTS, error=st.just("timeout"))
_REFUSED = _TEXTS.map(lambda text: Turn(Decision("answer", "a"), observation=text, is_answer=True, succeeded=False))


@given(turns=st.lists(_FOUND | _BROKEN | _REFUSED, min_size=1, max_size=6))
def test_a_logged_step_has_the_state_that_the_loop_weighed(turns: list[Turn]) -> None:
    conversation = Conversation("q", "How many?", ())
    states = []
    for turn in turns:
        states.append(conversation.state_text())
        conversation = conversation.with_turn(turn)
    query = ExploreQuery("q", 1, "How many?", ())
    line = build_run_trace("t", query, Finished(conversation, Stop.TURN_LIMIT), None)
    trace = parse_trace(orjson.loads(orjson.dumps(line)))
    assert [read_state(trace, number) for number in range(len(turns))] == states
    assert read_state(trace, len(turns)) == conversation.state_text()
