from __future__ import annotations

from dataclasses import replace

import pytest
import strategies as handmade
from hypothesis import HealthCheck, given, settings

from skillctl.core.diff.handbook_diff import PatchError, diff_handbooks, patch_handbook
from skillctl.core.diff.handbook_facts import build_from_facts, list_facts
from skillctl.model.handbook import Handbook

slow = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))


@slow
@given(handmade.handbooks(), handmade.handbooks())
def test_a_patch_by_the_difference_gives_the_other_handbook(before: Handbook, after: Handbook) -> None:
    assert patch_handbook(before, diff_handbooks(before, after)) == after


@slow
@given(handmade.handbooks())
def test_a_handbook_does_not_differ_from_itself(handbook: Handbook) -> None:
    assert diff_handbooks(handbook, handbook) == ()
    assert diff_handbooks(handbook, build_from_facts(list_facts(handbook))) == ()


@slow
@given(handmade.handbooks(), handmade.handbooks())
def test_the_difference_backwards_is_the_difference_mirrored(before: Handbook, after: Handbook) -> None:
    there, back = diff_handbooks(before, after), diff_handbooks(after, before)
    assert [(c.path, c.before, c.after) for c in there] == [(c.path, c.after, c.before) for c in back]


def test_a_patch_that_does_not_fit_is_refused() -> None:
    before, after = Handbook("a"), Handbook("b")
    with pytest.raises(PatchError, match="name is not what the difference was taken from"):
        patch_handbook(replace(before, name="c"), diff_handbooks(before, after))
