"""Cross-node comparisons: operands, expressions over JSON's numbers, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.model.evaluate import Failure, Json
from penstock.expr.errors import CompileError, ConditionInvalid, ExpressionTooComplex
from penstock.expr.evaluator import ExpressionEvaluator

VARIABLES: dict[str, Any] = {
    "output": {"a": 120, "f": 1.5, "s": "x", "t": True, "xs": [1, {"y": 2}], "output": "odd"},
    "nodes": {
        "plan": {"output": {"a": 100, "zero": 0, "name": "n", "xs": [5]}, "metadata": {"attempt": 2}},
        "fetch-data": {"output": {"b": 7}},
    },
    "input": {"limit": 10},
    "state": {"seen": ["x"]},
    "loop": {"iteration": 1},
}
FAILS = "EXPR_EVALUATION"


def evaluate(**source: Json) -> bool | str:
    condition = ExpressionEvaluator().condition({"type": "cross_node_comparison", **source})
    result = condition.evaluate(VARIABLES)
    return result.code if isinstance(result, Failure) else result


def current(path: str) -> dict[str, Any]:
    return {"source": "current", "path": path}


def context(node: str, path: str) -> dict[str, Any]:
    return {"source": "context", "node": node, "path": path}


@pytest.mark.parametrize(
    ("left", "operator", "right", "expected"),
    [
        (current("output.a"), ">", context("plan", "output.a"), True),
        (current("a"), ">", context("plan", "a"), True),
        (current("output.a"), "==", {"value": 120.0}, True),
        (current("output.a"), "!=", {"value": 120.0}, False),
        (current("output.a"), "<=", {"value": 120}, True),
        (current("output.a"), "<", {"value": 120}, False),
        (current("output.a"), ">=", {"value": 121}, False),
        (current("output.xs[1].y"), "==", {"value": 2}, True),
        (current("output.s"), "in", {"value": ["x", "y"]}, True),
        (current("output.xs"), "contains", {"value": 1}, True),
        (context("plan", "metadata.attempt"), "==", {"value": 2}, True),
        (context("fetch-data", "output.b"), "==", {"value": 7}, True),
        ({"value": None}, "==", {"value": None}, True),
        (current("output.t"), "==", {"value": 1}, False),
        (current("output.zz"), "==", {"value": 1}, FAILS),
        (context("nobody", "output.a"), "==", {"value": 1}, FAILS),
        (current("output.xs[9]"), "==", {"value": 1}, FAILS),
        (current("output.s"), "<", {"value": 1}, FAILS),
        (current("output.a.b"), "==", {"value": 1}, FAILS),
    ],
)
def test_two_operands_are_compared(left: Json, operator: str, right: Json, expected: bool | str) -> None:
    assert evaluate(left=left, operator=operator, right=right) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("current.output.a > ctx.plan.output.a", True),
        ("current.a > ctx.plan.a", True),
        ("current.a > nodes.plan.a", True),
        ("current.output.output == 'odd'", True),
        ("(current.a - ctx.plan.a) / ctx.plan.a > 0.1", True),
        ("(current.a - ctx.plan.a) / ctx.plan.a == 0.2", True),
        ("current.a * 1.1 > 131", True),
        ("current.f * 2 == 3", True),
        ("current.a + 1 == 121 && current.a % 7 == 1", True),
        ("-current.a < 0", True),
        ("current.a > 500 || current.t", True),
        ("!current.t", False),
        ("current.t ? true : current.zz", True),
        ("current.s in state.seen", True),
        ("current.s in ['a', 'x']", True),
        ("size(current.xs) == 2", True),
        ("ctx['fetch-data'].output.b == 7", True),
        ("current.xs[1].y == 2", True),
        ("current.a > input.limit", True),
        ("loop.iteration == 1", True),
        ("ctx.plan.metadata.attempt == 2", True),
        ("false && current.zz", False),
        ("current.zz && false", FAILS),
        ("current.a / ctx.plan.zero > 1", FAILS),
        ("current.a % ctx.plan.zero > 1", FAILS),
        ("current.s + 1 > 1", FAILS),
        ("current.t + 1 > 1", FAILS),
        ("-current.s > 1", FAILS),
        ("size(current.a) > 1", FAILS),
        ("ctx.nobody.a > 1", FAILS),
        ("current.a", "EXPR_NOT_BOOLEAN"),
        ("current.a && true", "EXPR_NOT_BOOLEAN"),
    ],
)
def test_an_expression_uses_the_numbers_of_json(expression: str, expected: bool | str) -> None:
    assert evaluate(expression=expression) == expected


@pytest.mark.parametrize(
    "source",
    [
        {},
        {"left": current("a"), "right": {"value": 1}},
        {"left": current("a"), "operator": "~", "right": {"value": 1}},
        {"left": current("a"), "operator": "=="},
        {"left": 5, "operator": "==", "right": {"value": 1}},
        {"left": {"source": "elsewhere", "path": "a"}, "operator": "==", "right": {"value": 1}},
        {"left": {"source": "context", "path": "a"}, "operator": "==", "right": {"value": 1}},
        {"left": {"source": "current"}, "operator": "==", "right": {"value": 1}},
        {"left": current("a b"), "operator": "==", "right": {"value": 1}},
        {"left": current("a[output.x]"), "operator": "==", "right": {"value": 1}},
        {"left": {"value": 1, "path": "a"}, "operator": "==", "right": {"value": 1}},
        {"expression": "current.a > 1", "operator": ">"},
    ],
)
def test_wrong_fields_are_refused(source: dict[str, Any]) -> None:
    with pytest.raises(ConditionInvalid):
        evaluate(**source)


@pytest.mark.parametrize(
    ("expression", "column"),
    [
        ("curent.a > 1", 1),
        ("current.a >", 12),
        ("current.xs[input.i] > 1", 11),
        ("current.xs.all(x, x > 1)", 11),
        ("int(current.s) > 1", 1),
    ],
)
def test_an_expression_out_of_reach_is_refused_with_its_place(expression: str, column: int) -> None:
    with pytest.raises(CompileError) as refused:
        evaluate(expression=expression)
    assert refused.value.attributes["column"] == column


def test_a_deep_expression_is_refused() -> None:
    with pytest.raises(ExpressionTooComplex):
        evaluate(expression="(" * 100 + "current.a")


def test_what_is_read_is_known() -> None:
    source = {"type": "cross_node_comparison", "expression": "current.a > ctx.plan.xs[0] && input.limit > 1"}
    reads = ExpressionEvaluator().condition(source).reads
    assert reads == {("output", "a"), ("nodes", "plan", "output", "xs"), ("input", "limit")}
