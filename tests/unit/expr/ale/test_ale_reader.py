"""What the reader makes of text, and where it says that text is wrong."""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.expr.ale.equality import same
from penstock.expr.ale.faults import ComplexityError, SourceError
from penstock.expr.ale.limits import DEFAULT, Limits, Meter
from penstock.expr.ale.printing import readable
from penstock.expr.ale.reader import parse_number, read
from penstock.expr.ale.syntax import data
from penstock.expr.ale.values import Keyword, Pair, Symbol, Value

ROOMY = Limits(steps=1_000_000)


def value(source: str) -> Value:
    (form,) = read(source, DEFAULT)
    return data(form)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("42", 42),
        ("-7", -7),
        ("+7", 7),
        ("0xFF", 255),
        ("-0xff", -255),
        ("0b101", 5),
        ("071", 57),
        ("2/3", Fraction(2, 3)),
        ("4/2", 2),
        ("12.8", 12.8),
        ("8E+10", 8e10),
        ("-1.5e-3", -0.0015),
        (":key", Keyword("key")),
        (":a/b?", Keyword("a/b?")),
        ("sym-bol!", Symbol("sym-bol!")),
        ("+", Symbol("+")),
        ("...", Symbol("...")),
        ("#t", True),
        ("nil", None),
        ('"a\\n\\t\\"\\\\\\u00e9"', 'a\n\t"\\é'),
        ('"line\nbreak"', "line\nbreak"),
        ("()", None),
        ('(1 [2 {:a 3 "b" ()}])', (1, [2, {"a": 3, "b": None}])),
        ("(:a . 1)", Pair(Keyword("a"), 1)),
        ("'x", (Symbol("quote"), Symbol("x"))),
        ("''x", (Symbol("quote"), (Symbol("quote"), Symbol("x")))),
        ("; a comment\n1;another", 1),
        ("#| over\n #| nested |# lines |# 1", 1),
    ],
)
def test_a_source_reads_as_a_value(source: str, expected: Value) -> None:
    read_value = value(source)
    assert type(read_value) is type(expected)
    assert read_value == expected


@pytest.mark.parametrize(
    ("source", "line", "column"),
    [
        ("(+ 1", 1, 1),
        ("(+ 1\n  [2", 2, 3),
        ("(+ 1]", 1, 5),
        (")", 1, 1),
        ("1 }", 1, 3),
        ("{:a}", 1, 1),
        ('(str "abc', 1, 6),
        ('"abc\\"', 1, 1),
        ('"abc\\', 1, 1),
        ('"ab\\q"', 1, 4),
        ('"\\ud800"', 1, 2),
        ("#| open", 1, 1),
        ("|#", 1, 1),
        ("\n 12ab", 2, 2),
        ("089", 1, 1),
        ("1/0", 1, 1),
        ("1e999", 1, 1),
        ("1" * 400, 1, 1),
        ("'", 1, 1),
        ("(')", 1, 3),
        ("(a . )", 1, 6),
        ("(a . b c)", 1, 9),
        ("(. b)", 1, 2),
        ("(a . b . c)", 1, 8),
        ("[a . b]", 1, 4),
        ("`x", 1, 1),
        ("(a ,b)", 1, 4),
        ("#{1}", 1, 1),
        ("#x", 1, 1),
    ],
)
def test_an_unreadable_source_is_refused_with_its_place(source: str, line: int, column: int) -> None:
    with pytest.raises(SourceError) as caught:
        read(source, DEFAULT)
    at = caught.value.at
    assert (source.count("\n", 0, at) + 1, at - source.rfind("\n", 0, at)) == (line, column)
    assert caught.value.expected


@pytest.mark.parametrize(
    "source",
    ["(" * 10_000, "[" * 10_000 + "]" * 10_000, "'" * 10_000 + "x", "(" * 201, " " * 70_000, "é" * 40_000],
    ids=["lists", "vectors", "quotes", "one too deep", "long", "long in bytes"],
)
def test_a_source_beyond_its_limit_is_refused(source: str) -> None:
    with pytest.raises(ComplexityError):
        read(source, DEFAULT)


def test_a_source_may_be_nested_up_to_its_limit() -> None:
    assert len(read("[" * 200 + "]" * 200, DEFAULT)) == 1


_NAMES = st.from_regex(r"[a-zA-Z*<>!?=_-][a-zA-Z0-9*<>!?=_-]{0,8}", fullmatch=True)
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**200), 2**200)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.fractions(max_denominator=999).map(lambda f: f.numerator if f.denominator == 1 else f)
    | st.text(st.characters(exclude_categories=["Cs"]))
    | _NAMES.map(Keyword)
    | _NAMES.filter(lambda name: name not in {"true", "false", "null", "nil"}).map(Symbol)
)
VALUES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner, min_size=1).map(tuple)
        | st.dictionaries(_NAMES, inner)
        | st.builds(Pair, inner, inner)
    ),
    max_leaves=10,
)


@settings(deadline=None)
@given(VALUES)
def test_what_is_printed_reads_as_the_same_value(original: Value) -> None:
    meter = Meter(ROOMY, 0)
    (form,) = read(readable(meter, original), ROOMY)
    assert same(meter, data(form), original)


@settings(deadline=None)
@given(st.text())
def test_any_text_is_read_or_refused(source: str) -> None:
    with suppress(SourceError):
        read(source, DEFAULT)


@settings(deadline=None)
@given(st.text("0123456789+-./eExXbB", max_size=12))
def test_a_number_is_finite_or_none(text: str) -> None:
    number = parse_number(text)
    assert number is None or math.isfinite(number)
