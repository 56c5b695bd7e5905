"""How a Python script becomes the body of a function, and where its errors are."""

from __future__ import annotations

import pytest

from penstock.core.model.evaluate import Json
from penstock.expr.script.python import _function, _module

BODIES: dict[str, tuple[str, Json]] = {
    "one line": ("return a", 1),
    "a block": ("if a:\n\treturn 2\nreturn 3", 2),
    "text over lines": ('x = """one\ntwo\n  three"""\nreturn x', "one\ntwo\n  three"),
    "the other quotes": ("x = '''one\ntwo'''\nreturn x", "one\ntwo"),
    "an escaped quote": ('x = """a\\"""\nb"""\nreturn x', 'a"""\nb'),
    "quotes in a comment": ('# """ it\'s\nreturn 4', 4),
    "quotes in text": ('x = \'"""\'\nreturn x', '"""'),
    "a continued string": ("x = 'a\\\nb'\nreturn x", "ab"),
    "brackets over lines": ("return [\n1,\n2]", [1, 2]),
    "windows line ends": ("x = 1\r\nreturn x", 1),
    "old line ends": ("x = 1\rreturn x", 1),
    "raw text": ('x = r"\\n"\nreturn x', "\\n"),
}


@pytest.mark.parametrize(("source", "expected"), BODIES.values(), ids=BODIES)
def test_a_script_means_the_same_inside_a_function(source: str, expected: Json) -> None:
    names: dict[str, Json] = {}
    exec(_function(source, ("a",)).text, names)  # noqa: S102 - our own examples
    assert names["evaluate"](1) == expected


def test_arguments_are_parameters_in_sorted_order() -> None:
    assert _function("return 1", ("b", "a")).text.startswith("def evaluate(a, b):\n")


def test_a_place_in_a_script_is_one_in_the_users_source() -> None:
    error = _function("x = 1\ny = = 2", ()).compile_error(3, 9, "no")
    assert (error.attributes["line"], error.attributes["column"]) == (2, 5)


def test_a_place_behind_the_end_is_the_last_line() -> None:
    assert _function("if x:", ()).compile_error(9, 1, "no").attributes["line"] == 1


def test_a_place_in_a_condition_stays_where_it_is() -> None:
    error = _module("def evaluate(o, c):\n  retrun 1").compile_error(2, 3, "no")
    assert (error.attributes["line"], error.attributes["column"]) == (2, 3)
