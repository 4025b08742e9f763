from __future__ import annotations

import pytest

from skillctl.report.cells import show_count, show_id, show_list, show_table, show_text, show_usd


@pytest.mark.parametrize(("value", "text"), [(None, "unknown"), (0.0, "$0"), (0.0021, "$0.0021"), (4e-7, "$4e-07")])
def test_an_unknown_amount_is_not_zero(value: float | None, text: str) -> None:
    assert show_usd(value) == text


@pytest.mark.parametrize(("value", "text"), [(12.0, "12"), (0.25, "0.2"), (0.0, "0"), (1234567.5, "1234567.5")])
def test_counts_have_no_needless_digits(value: float, text: str) -> None:
    assert show_count(value) == text


def test_ids_are_shown_in_full_with_escapes_for_what_is_not_printable() -> None:
    assert show_id("a\x1b\n" + "b" * 500) == "a\\x1b\\n" + "b" * 500


def test_texts_are_shown_on_one_line_and_cut_with_a_mark() -> None:
    assert show_text("one\n two") == "one two"
    assert show_text("a" * 100, width=10) == "a" * 9 + "…"


def test_a_bar_in_a_cell_does_not_break_a_markdown_table() -> None:
    assert show_table(["id"], [["a|b"]], markdown=True).splitlines()[-1] == "| a\\|b |"


def test_cells_that_look_like_numbers_stay_as_they_are() -> None:
    assert "1e3" in show_table(["id"], [["1e3"], ["08"]], markdown=False)
    assert "08" in show_table(["id"], [["1e3"], ["08"]], markdown=False)


def test_an_empty_list_has_no_title() -> None:
    assert show_list("Signals", [], markdown=False) == ""
