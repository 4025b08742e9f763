from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillctl.store.canonical_yaml import emit_yaml
from skillctl.store.comments import read_trivia
from skillctl.store.schema import load_schema
from skillctl.store.strict_yaml import parse_yaml
from skillctl.store.typed_values import read_value

LINK = "# yaml-language-server: $schema=x\n"


def _rewrite(text: str, *, schema: str = "skills", change: object = None) -> str:
    """Read a text and write it again, with other data if given, as a save does."""
    root = parse_yaml(text.encode())
    value, faults = read_value(root, load_schema(schema))
    assert not faults
    return emit_yaml(change or value, load_schema(schema), read_trivia(text, root))


CANONICAL = {
    "header and footer": "# header\n\nmode: m\nskills: []\n\n# footer\n",
    "end of line": "mode: m  # one\nskills:  # two\n- id: a  # three\n  description: d # four\n",
    "between items": "mode: m\nskills:\n- id: a\n  description: d\n\n# about b\n- id: b\n  description: d\n",
    "commented-out last item": "mode: m\nskills:\n- id: a\n  description: d\n  examples:\n  - one\n  # - two\n",
    "hash in texts": "mode: m#1\nskills:\n- id: 'a #1'\n  description: \"it's # no comment\"  # one\n",
    "own fields": "mode: m\nskills: []\nx-a:  # why\n  # deep\n  b: 1  # one\n",
}


@pytest.mark.parametrize("text", CANONICAL.values(), ids=CANONICAL)
def test_comments_and_blank_lines_stay_where_they_are(text: str) -> None:
    assert _rewrite(text) == text


def test_a_comment_stays_with_its_skill_when_others_come_and_go() -> None:
    text = "mode: m\nskills:\n- id: a\n  description: d\n# about c\n- id: c\n  description: d  # c's\n"
    changed = {"mode": "m", "skills": [{"id": "b", "description": "d"}, {"id": "c", "description": "e"}]}
    assert _rewrite(text, change=changed) == (
        "mode: m\nskills:\n- id: b\n  description: d\n# about c\n- id: c\n  description: e  # c's\n"
    )


def test_the_comment_of_a_removed_entry_goes_with_it() -> None:
    text = "mode: m\nskills:\n# about a\n- id: a\n  description: d\n"
    assert _rewrite(text, change={"mode": "m", "skills": []}) == "mode: m\nskills: []\n"


def test_comments_in_what_becomes_one_line_move_above_it() -> None:
    text = "agent: a\nprice:  # per million\n  # read\n  prompt_usd_per_mtok: 1  # one\n  completion_usd_per_mtok: 2\n"
    assert _rewrite(text, schema="agent") == (
        "agent: a\n# read\n# one\nprice: {prompt_usd_per_mtok: 1.0, completion_usd_per_mtok: 2.0}  # per million\n"
    )


def test_two_comments_of_one_line_both_survive() -> None:
    text = "agent: a\ntools: [  # first\n  b  # second\n]  # third\n"
    written = _rewrite(text, schema="agent")
    assert all(word in written for word in ("# first", "# second", "# third"))


def test_texts_over_several_lines_hold_no_comments() -> None:
    text = (
        "mode: m\nskills:\n- id: a\n  description: |\n    one # no\n\n    # no\n  # yes\n  examples:\n"
        '  - "two\n    # no\n\n    three"  # yes too\n  - four\n    five # yes, too\n'
    )
    assert _rewrite(text).count("# yes") == 3
    assert 'description: "one # no\\n\\n# no\\n"' in _rewrite(text)


def test_comments_around_a_text_in_block_style_stay() -> None:
    text = "playbook: p\n# how\ninstructions: |-  # to do\n  one # no\n\n  # no\n  two\n# what\ninput: x\n"
    assert _rewrite(text, schema="playbook") == text


def test_the_editor_line_is_no_comment() -> None:
    assert _rewrite(f"{LINK}mode: m\nskills: []\n") == "mode: m\nskills: []\n"


def test_windows_line_ends_leave_no_trace() -> None:
    assert _rewrite("mode: m  # one\r\n\r\n# two\r\nskills: []\r\n") == "mode: m  # one\n\n# two\nskills: []\n"


WORDS = st.text('ab #:"-', min_size=1, max_size=6)


@given(skills=st.lists(st.tuples(WORDS, WORDS), max_size=4), with_blank=st.booleans())
def test_rewriting_is_settled_after_the_first_time_and_loses_no_comment(
    skills: list[tuple[str, str]],
    *,
    with_blank: bool,
) -> None:
    gap = "\n" if with_blank else ""
    body = "".join(
        f"{gap}  # c{n}. {text}\n  - id: s{n}   # e{n}. {text}\n    description: '{word}x'\n"
        for n, (text, word) in enumerate(skills)
    )
    listed = f"\n{body}" if skills else " []\n"
    text = f"mode: m # m\nskills:{listed}# end\n"
    once = _rewrite(text)
    assert _rewrite(once) == once
    for n in range(len(skills)):
        assert f"# c{n}." in once
        assert f"# e{n}." in once
    assert once.endswith("# end\n")
