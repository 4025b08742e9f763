"""Scoring rules, as tables of answers that models really give."""

# ruff: noqa: FBT001 - the expected verdict is a column of the tables
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillctl.core.orchestrate.pattern_guard import find_pattern_fault
from skillctl.core.run.answers import find_number, find_option, normalise_words, strip_wrapping
from skillctl.core.run.grading import RULES, Scoring, UngradableError, find_reference_fault, grade, parse_scoring


def is_right(answer: str, reference: object, rule: str, **settings: object) -> bool:
    return grade(answer, reference, parse_scoring({"rule": rule, **settings})).success


@pytest.mark.parametrize(
    ("answer", "reference", "expected"),
    [
        ("Paris", "Paris", True),
        ("  Paris\n", "Paris", True),
        ("paris", "Paris", False),
        ("Paris.", "Paris", False),
        ("**Paris**", "Paris", True),
        ("`Paris`", "Paris", True),
        ("```\nParis\n```", "Paris", True),
        ("```python\nx = 1\n```", "x = 1", True),
        ("*a* and *b*", "a* and *b", False),
        ("**Paris**", "**Paris**", True),
        ("<think>London?</think>\nParis", "Paris", True),
        ("London? Hm.</think>Paris", "Paris", True),
        ("<think>Paris", "Paris", False),
        ("It is Paris", "Paris", False),
        ("", "Paris", False),
        ("12", 12, True),
        ("true", True, True),
        ("b", ["a", "b"], True),
        ("c", ["a", "b"], False),
    ],
)
def test_exact_compares_the_stripped_text(answer: str, reference: object, expected: bool) -> None:
    assert is_right(answer, reference, "exact") is expected


@pytest.mark.parametrize(
    ("answer", "reference", "expected"),
    [
        ("The Eiffel Tower.", "eiffel tower", True),
        ("Straße", "STRASSE", True),
        ("ｃａｆé", "café", True),
        ("U.S.", "us", True),
        ("well-known", "well known", True),
        ("3.5", "35", False),
        ("-5", "5", False),
        ("1,204", "1204", True),
        ("C++", "C", False),
        ("C#", "C", False),
        ("50%", "50", False),
        ("A", "the", False),
        ("vitamin A", "vitamin", False),
        ("the", "the", True),
        ("**Paris**", "paris", True),
        ("It is Paris", "Paris", False),
        ("Paris", "It is Paris", False),
    ],
)
def test_normalized_ignores_case_articles_and_punctuation_only(answer: str, reference: str, expected: bool) -> None:
    assert is_right(answer, reference, "normalized") is expected


@pytest.mark.parametrize(
    ("answer", "reference", "expected"),
    [
        ("The capital is Paris, of course.", "Paris", True),
        ("Parisian", "Paris", False),
        ("Paris", "Paris, France", False),
        ("", "Paris", False),
        ("Take vitamin A daily", "vitamin A", True),
        ("Take vitamin C daily", "vitamin A", False),
        ("It costs 1,204 dollars.", "1204", True),
        ("It costs 12.5 dollars.", "2.5", False),
        ("The Lord of the Rings", "lord of rings", True),
        ("New York", ["NYC", "New York"], True),
    ],
)
def test_contains_looks_for_whole_words_in_one_direction(answer: str, reference: object, expected: bool) -> None:
    assert is_right(answer, reference, "contains") is expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("42", 42),
        ("The result is 3.", 3),
        ("1,204", 1204),
        ("1,00,000", 100000),
        ("$1,204.50", 1204.5),
        ("-7", -7),
        ("\N{MINUS SIGN}7", -7),
        ("-$7", -7),
        ("10-3", 3),
        ("between 3-5", 5),
        (".5", 0.5),
        ("3/4", 0.75),
        ("1 3/4", 1.75),
        ("1\N{VULGAR FRACTION ONE HALF}", 1.5),
        (r"\frac{3}{4}", 0.75),
        ("1.5e3", 1500),
        ("1.5 × 10^3", 1500),
        ("1.5 x 10⁻³", 0.0015),
        (r"2 \times 10^{4}", 20000),
        ("50%", 50),
        ("The answer is 12. I added 3 and 9.", 12),
        ("The answer to 3+4 is 7", 7),
        ("The answer is 3 + 4 = 7", 7),
        ("Answer: 5 apples, as 8 - 3", 5),
        ("**Answer:**\n\n42", 42),
        ("work 1 2 3\n#### 18", 18),
        (r"so \boxed{12} of 15", 12),
        (r"\boxed{\frac{1}{2}} as 3 says", 0.5),
        ("5 * 6 = 30, which each of the 3 gets", 30),
        ("x = 3, then y = 4", 4),
        ("2x + 3 = 7, so 2x = 4.\nSo x is 2", 2),
        ("It is `sum(i for i in r if i % 6 == 0)`. Its value is 16.", 16),
        ("```python\nx = 5\nprint(x + 2)\n```\nIt prints 7.", 7),
        ("It prints 7:\n```python\nx = 5\n```", 7),
        ("```\n7\n```", 7),
        ("Count: 12 m²", 12),
        ("It is 12 in the B2 block of qc05", 12),
        ("17 (on 2024-05-01)", 17),
        ("17 at 12:30", 17),
        ("17 with Python 3.11.2", 17),
        ("1. First I add.\n2. Then I get 9.\n3. Done.", 9),
        ("5km", 5),
        ("**1,204**", 1204),
        ("\\$18", 18),
        ("\N{FULLWIDTH DIGIT ONE}\N{FULLWIDTH DIGIT TWO}", 12),
        ("none", None),
        ("2024-05-01", None),
        ("1/0", None),
        ("1e999999999", None),
        ("9" * 5000, None),
    ],
)
def test_a_number_is_found_where_the_answer_settles_on_it(answer: str, expected: float | None) -> None:
    found = find_number(answer)
    assert (None if found is None else float(found.value)) == expected


@pytest.mark.parametrize(
    ("answer", "reference", "settings", "expected"),
    [
        ("10.01", "10", {"tolerance": 0.01}, True),
        ("10.011", "10", {"tolerance": 0.01}, False),
        ("0.3", 0.3, {}, True),
        ("101", 100, {"relative": 0.01}, True),
        ("-101", -100, {"relative": 0.01}, True),
        ("102", 100, {"relative": 0.01}, False),
        ("50%", 50, {}, True),
        ("50%", 0.5, {}, True),
        ("0.5", "50%", {}, True),
        ("5", "50%", {}, False),
        ("1/3", "1/3", {}, True),
        ("12", "120", {}, False),
        ("120", "12", {}, False),
        ("no idea", "12", {}, False),
    ],
)
def test_numeric_compares_within_the_tolerance(
    answer: str,
    reference: object,
    settings: dict[str, float],
    expected: bool,
) -> None:
    assert is_right(answer, reference, "numeric", **settings) is expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("B", "B"),
        ("b", "B"),
        ("(B)", "B"),
        ("(b)", "B"),
        ("B.", "B"),
        ("**B**", "B"),
        ("Option C", "C"),
        ("B) Paris", "B"),
        ("B: Paris", "B"),
        ("**B)** Paris", "B"),
        ("The answer is B", "B"),
        ("The answer is (B) Paris.", "B"),
        ("Answer: B) Paris", "B"),
        ("Answer: A", "A"),
        ("The correct answer is **C**, because A is wrong.", "C"),
        ("The correct option is: D. Paris", "D"),
        ("I think it is B", "B"),
        ("A dog has 4 legs, so C", "C"),
        (r"\boxed{D}", "D"),
        ("The answer is not B but C", "C"),
        ("A) Rome\nB) Paris", None),
        ("It may be B or C", None),
        ("The answer is a capital city", None),
        ("The answer is B. No, the answer is C.", None),
        ("", None),
        ("Paris", None),
    ],
)
def test_an_option_is_chosen_or_the_answer_is_ambiguous(answer: str, expected: str | None) -> None:
    assert find_option(answer) == expected


@pytest.mark.parametrize(
    ("answer", "reference", "settings", "expected"),
    [
        ("abc123", r"[a-z]+\d+", {}, True),
        ("x abc123", r"[a-z]+\d+", {}, False),
        ("x abc123", r"[a-z]+\d+", {"search": True}, True),
        (" `abc1` ", r"[a-z]+\d", {}, True),
    ],
)
def test_regex_matches_the_whole_answer_unless_told_to_search(
    answer: str,
    reference: str,
    settings: dict[str, bool],
    expected: bool,
) -> None:
    assert is_right(answer, reference, "regex", **settings) is expected


@pytest.mark.parametrize(
    "pattern",
    ["(a+)+$", "(a|a)*b", r"(\w\w|\d\d)*x", "(", "a" * 501, ".*a.*b.*c.*d", r"(x*)*", r"(.)(\1)*", "(?P<a>x)(?P<a>y)"],
)
def test_a_pattern_that_is_broken_or_could_run_for_ever_is_refused(pattern: str) -> None:
    assert find_pattern_fault(pattern)
    with pytest.raises(UngradableError):
        grade("a", pattern, Scoring(rule="regex"))


@pytest.mark.parametrize("pattern", [r"\d+", r"(foo|bar)*", r"a.*b.*c", r"(ab)+", r"[^x]+", r"(\d\d)*", r"(?:a+)?b"])
def test_ordinary_patterns_are_run(pattern: str) -> None:
    assert find_pattern_fault(pattern) is None


def test_a_pattern_is_not_run_on_a_very_long_answer() -> None:
    with pytest.raises(UngradableError, match="characters"):
        grade("a" * 5000, "a+", Scoring(rule="regex"))


@pytest.mark.parametrize(
    ("answer", "reference", "expected"),
    [
        ('{"a": 1, "b": [1, 2]}', {"b": [1, 2], "a": 1.0}, True),
        ('{"a": true}', {"a": 1}, False),
        ('{"a": 1}', '{"a": 1}', True),
        ('```json\n{"a": 1}\n```', {"a": 1}, True),
        ('Here it is:\n```json\n{"a": "```"}\n```\nDone {ok}.', {"a": "```"}, True),
        ('First [1], then {"a": 1}', {"a": 1}, True),
        ("[2, 1]", [1, 2], False),
        ("[1, 2, 3]", [1, 2], False),
        ("3.0", 3, True),
        ('"x"', "x", True),
        ("null", None, True),
        ('{"a": NaN}', {"a": 1}, False),
        ("```json\n```", {"a": 1}, False),
        ('{"a": 1', {"a": 1}, False),
        ("[" * 100_000, [1], False),
    ],
)
def test_json_compares_by_value(answer: str, reference: object, expected: bool) -> None:
    assert is_right(answer, reference, "json") is expected


def test_deeply_nested_json_is_no_verdict_rather_than_a_crash() -> None:
    deep: object = 1
    for _ in range(2000):
        deep = [deep]
    with pytest.raises(UngradableError, match="deeply"):
        grade("[" * 900 + "1" + "]" * 900, deep, Scoring(rule="json"))


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ("fuzzy", "unknown scoring rule"),
        (3, "must be the name"),
        ({"rule": "command"}, "unknown scoring rule"),
        ({"rule": "exact", "tolerance": 1}, "takes no 'tolerance'"),
        ({"rule": "numeric", "tolerance": -1}, "from 0 up"),
        ({"rule": "numeric", "tolerance": float("nan")}, "from 0 up"),
        ({"rule": "numeric", "relative": True}, "from 0 up"),
        ({"rule": "regex", "search": 1}, "true or false"),
        ({"rule": ["exact"]}, "unknown scoring rule"),
    ],
)
def test_a_rule_that_is_not_declared_right_is_an_error(value: object, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        parse_scoring(value)


@pytest.mark.parametrize(
    ("reference", "rule"),
    [("none", "numeric"), ("Paris", "choice"), ("...", "contains"), ("(a+)+", "regex"), (["1", "x"], "numeric")],
)
def test_a_reference_that_the_rule_cannot_use_is_found_before_any_call(reference: object, rule: str) -> None:
    assert find_reference_fault(reference, parse_scoring(rule))


@pytest.mark.parametrize(("reference", "rule"), [("12", "numeric"), ("B", "choice"), ({"a": 1}, "json"), ("", "exact")])
def test_a_usable_reference_has_no_fault(reference: object, rule: str) -> None:
    assert find_reference_fault(reference, parse_scoring(rule)) is None


@given(st.text(), st.sampled_from(RULES))
def test_no_answer_makes_a_rule_crash(answer: str, rule: str) -> None:
    verdict = grade(answer, {"numeric": "1", "choice": "B"}.get(rule, "x"), parse_scoring(rule))
    assert verdict.score in (0.0, 1.0)


@given(st.text())
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalise_words(text)
    assert normalise_words(" ".join(once), keep_articles=True) == once


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12, places=3))
def test_a_number_is_read_back_from_a_sentence(number: object) -> None:
    found = find_number(f"The total comes to {number:,}.")
    assert found is not None
    assert found.value == __import__("fractions").Fraction(str(number))


@given(st.text(min_size=1))
def test_an_answer_agrees_with_itself(text: str) -> None:
    assert grade(text, strip_wrapping(text), Scoring()).success


@pytest.mark.parametrize("rule", ["exact", "normalized", "numeric", "choice", "contains", "json"])
@pytest.mark.parametrize("part", ["1 ", "(", "9", "= ", "answer is ", "**", "{}", "<think>", "```\n", "\\boxed{"])
def test_a_very_long_answer_is_graded_without_much_ado(rule: str, part: str) -> None:
    reference = "B" if rule == "choice" else "1"
    assert grade(part * (100_000 // len(part)), reference, parse_scoring(rule)).score in (0.0, 1.0)
