"""Composites: left to right, short-circuit, and failures that are not swallowed."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.model.evaluate import Failure, Json
from penstock.expr.errors import CompileError, ConditionInvalid, ExpressionTooComplex
from penstock.expr.evaluator import ExpressionEvaluator

T, F, X = "output.t", "output.f", "output.missing"
VARIABLES = {"output": {"t": True, "f": False}}
FAILS = "EXPR_EVALUATION"


def composite(operator: str, *conditions: Json) -> dict[str, Any]:
    return {"type": "composite", "operator": operator, "conditions": list(conditions)}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (composite("AND", T, T), True),
        (composite("AND", T, F), False),
        (composite("AND", F, X), False),
        (composite("AND", X, F), FAILS),
        (composite("AND", T, X), FAILS),
        (composite("AND", T), True),
        (composite("OR", F, T), True),
        (composite("OR", F, F), False),
        (composite("OR", T, X), True),
        (composite("OR", X, T), FAILS),
        (composite("OR", F, X), FAILS),
        (composite("NOT", F), True),
        (composite("NOT", T), False),
        (composite("NOT", X), FAILS),
        (composite("and", T, {"expression": T}), True),
        (composite("AND", composite("OR", F, T), composite("NOT", composite("AND", T, F))), True),
        (composite("OR", composite("AND", T, F), {"type": "jsonpath", "query": "$.t"}), True),
    ],
)
def test_operands_are_taken_left_to_right_until_one_decides(source: Json, expected: bool | str) -> None:
    result = ExpressionEvaluator().condition(source).evaluate(VARIABLES)
    assert (result.code if isinstance(result, Failure) else result) == expected


@pytest.mark.parametrize(
    "source",
    [
        composite("XOR", T),
        composite("AND"),
        composite("NOT", T, F),
        composite("NOT"),
        {"type": "composite", "operator": "AND"},
        {"type": "composite", "conditions": [T]},
        {"type": "composite", "operator": "AND", "conditions": T},
        {"type": "riddle"},
        {"type": None, "expression": T},
        {"type": "cel"},
        {"type": "cel", "expression": 5},
        {"type": "cel", "expression": T, "extra": 1},
        5,
        None,
        [T],
    ],
)
def test_what_is_not_a_condition_is_refused(source: Json) -> None:
    with pytest.raises(ConditionInvalid):
        ExpressionEvaluator().condition(source)


def nested(levels: int) -> Json:
    source: Json = T
    for _ in range(levels):
        source = composite("AND", source)
    return source


def test_sixteen_levels_are_enough() -> None:
    assert ExpressionEvaluator().condition(nested(16)).evaluate(VARIABLES) is True
    with pytest.raises(ExpressionTooComplex):
        ExpressionEvaluator().condition(nested(17))


def test_an_error_inside_says_where() -> None:
    source = composite("AND", T, composite("OR", T, {"type": "cel", "expression": "output."}))
    with pytest.raises(CompileError) as refused:
        ExpressionEvaluator().condition(source)
    assert refused.value.attributes["path"] == "conditions[1].conditions[1]"


def test_what_the_parts_read_the_whole_reads() -> None:
    condition = ExpressionEvaluator().condition(composite("OR", T, composite("NOT", "state._last_error.code == 'X'")))
    assert condition.reads == {("output", "t"), ("state", "_last_error", "code")}
