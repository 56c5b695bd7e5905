"""What is refused before any compiler sees it, and how arguments are bound."""

from __future__ import annotations

import pytest

from penstock.expr.errors import CompileError, ExpressionTooComplex
from penstock.expr.script import Script
from penstock.expr.script.language import MAX_SOURCE, check_source

NONE: frozenset[str] = frozenset()


def test_values_are_bound_in_the_order_of_the_sorted_names() -> None:
    script = Script("lua", "", ("zebra", "apple", "mango"))
    assert script.bind({"mango": 2, "zebra": 3, "apple": 1, "unknown": 4}) == [1, 2, 3]


def test_an_argument_without_a_value_is_null() -> None:
    assert Script("lua", "", ("a", "b")).bind({"b": 1}) == [None, 1]


@pytest.mark.parametrize("name", ["", "a b", "1a", "a-b", "a.b", "a,b", "a\n", "é", "end"])
def test_an_argument_that_is_no_plain_name_is_refused(name: str) -> None:
    with pytest.raises(CompileError):
        check_source("lua", "return 1", (name,), frozenset({"end"}))


def test_a_source_may_be_as_long_as_the_limit_and_no_longer() -> None:
    check_source("lua", " " * MAX_SOURCE, (), NONE)
    with pytest.raises(ExpressionTooComplex):
        check_source("lua", " " * (MAX_SOURCE + 1), (), NONE)
