from __future__ import annotations

import math

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import NASTY_TEXTS, json_values

from skillctl.store.canonical_yaml import emit_yaml
from skillctl.store.yaml_scalars import render_float, render_scalar, render_text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (4e-7, "4.0e-07"),
        (4.5e-7, "4.5e-07"),
        (1e22, "1.0e+22"),
        (0.71, "0.71"),
        (12.0, "12.0"),
        (0.0, "0.0"),
        (-1e-9, "-1.0e-09"),
        (128000.0, "128000.0"),
    ],
)
def test_floats_have_the_point_that_yaml_1_1_needs(number: float, text: str) -> None:
    assert render_float(number) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_read_back_as_the_same_number(number: float) -> None:
    read = yaml.safe_load(render_float(number))
    assert isinstance(read, float)
    assert read == number
    assert math.copysign(1, read) == math.copysign(1, number)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("solve for x", "solve for x"),
        ("Solve 3x + 5 = 20.", "Solve 3x + 5 = 20."),
        ("https://a.b/c", "https://a.b/c"),
        ("30d", "30d"),
        ("Zoë 日本語 🤖", "Zoë 日本語 🤖"),
        ("no", "'no'"),
        ("1.10", "'1.10'"),
        ("it's: so", '"it\'s: so"'),
        (r"\b[xyz]\s*=", r"'\b[xyz]\s*='".replace("'", "")),
        (r"^\d: '", r'"^\\d: ' + "'" + '"'),
        ("a\nb", r'"a\nb"'),
        ("\u2028\ufeff\x07", r'"\u2028\ufeff\x07"'),
        ("", "''"),
        ("a" * 3000, "a" * 3000),
    ],
)
def test_texts_are_plain_where_safe_and_always_on_one_line(text: str, written: str) -> None:
    assert render_text(text) == written


@pytest.mark.parametrize("text", NASTY_TEXTS)
@pytest.mark.parametrize("in_flow", [False, True])
def test_every_nasty_text_reads_back(text: str, *, in_flow: bool) -> None:
    written = render_text(text, in_flow=in_flow)
    assert "\n" not in written
    document = f"{{k: [{written}, x]}}" if in_flow else f"k:\n- {written}\n- x\n"
    assert yaml.safe_load(document) == {"k": [text, "x"]}


@settings(max_examples=500)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.text("a?:,- #'\"[{", max_size=6))
def test_any_text_reads_back_as_value_key_and_item(text: str) -> None:
    value, inner = render_text(text), render_text(text, in_flow=True)
    document = f"a: {value}\nb: [{inner}, {inner}]\nc: {{{inner}: {inner}}}\nd:\n- {value}\n- {value}: 1\n"
    assert yaml.safe_load(document) == {"a": text, "b": [text, text], "c": {text: text}, "d": [text, {text: 1}]}


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), json_values, max_size=4))
def test_free_values_read_back(data: dict[str, object]) -> None:
    written = emit_yaml(data, {})
    assert yaml.safe_load(written) == (data or None)


@pytest.mark.parametrize("key", ["k" * 1500, "\u2028" * 300])
def test_a_key_too_long_for_one_line_is_written_explicitly(key: str) -> None:
    data = {key: {"a": 1}, "b": 2}
    assert yaml.safe_load(emit_yaml(data, {})) == data


BLOCK = {"properties": {"t": {"type": "string", "x-style": "block"}}}


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("one\ntwo", "t: |-\n  one\n  two\n"),
        ("one\n\n  two: # x\n", "t: |\n  one\n\n    two: # x\n"),
        ("one", "t: one\n"),
        ("one \ntwo", 't: "one \\ntwo"\n'),
        (" one\ntwo", 't: " one\\ntwo"\n'),
        ("one\n\n", 't: "one\\n\\n"\n'),
        ("one\n\ttwo", 't: "one\\n\\ttwo"\n'),
    ],
)
def test_long_texts_keep_their_lines_where_the_schema_says_so(text: str, written: str) -> None:
    assert emit_yaml({"t": text}, BLOCK) == written
    assert yaml.safe_load(written) == {"t": text}


@given(st.text("ab \n#:-\t|é\u2028", max_size=20))
def test_texts_in_block_style_read_back(text: str) -> None:
    assert yaml.safe_load(emit_yaml({"t": text, "u": "x"}, BLOCK | {"additionalProperties": {}})) == {
        "t": text,
        "u": "x",
    }


def test_keys_follow_the_schema_and_others_their_own_order() -> None:
    schema = {"properties": {"b": {}, "a": {}}}
    assert emit_yaml({"x-2": 1, "a": 1, "x-1": 1, "b": 1}, schema) == "b: 1\na: 1\nx-2: 1\nx-1: 1\n"


def test_scalars_without_quotes_are_json_values() -> None:
    assert [render_scalar(value) for value in (None, True, False, 3, 0.5)] == ["null", "true", "false", "3", "0.5"]
