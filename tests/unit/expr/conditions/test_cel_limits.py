"""Loops over large data: bounded before they run, on both engines."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.model.evaluate import Failure
from penstock.expr.evaluator import ExpressionEvaluator

LARGE: dict[str, Any] = {
    "output": {"l": list(range(9000)), "s": "x" * 300_000, "small": [{"id": n, "v": "v"} for n in range(100)]}
}


@pytest.mark.parametrize(
    "source",
    [
        "output.l.all(x, output.l == output.l)",
        "output.l.all(x, 8999 in output.l)",
        "output.l.map(x, output.s + output.s).size() > 0",
        "output.l.all(x, output.s.matches('y$'))",
        "output.l.all(x, output.l.all(y, x + y >= 0))",
        "output.l.map(x, x).size() > 0",
    ],
)
def test_a_loop_that_would_take_too_long_is_stopped(source: str, evaluator: ExpressionEvaluator) -> None:
    result = evaluator.condition(source).evaluate(LARGE)
    assert isinstance(result, Failure)
    assert result.code == "EXPR_LIMIT"


@pytest.mark.parametrize(
    "source",
    [
        "output.small.all(x, x.id >= 0)",
        "output.small.exists(x, x.id == output.small[99].id)",
        "output.small.map(x, x.v + '!').size() == 100",
        "output.small.filter(x, x.id % 2 == 0).size() == 50",
    ],
)
def test_a_loop_over_a_reasonable_list_beside_large_data_runs(source: str, evaluator: ExpressionEvaluator) -> None:
    assert evaluator.condition(source).evaluate(LARGE) is True


def test_a_loop_over_ten_thousand_elements_is_beyond_the_engines_budget(evaluator: ExpressionEvaluator) -> None:
    result = evaluator.condition("output.all(x, x >= 0)").evaluate({"output": list(range(10_001))})
    assert isinstance(result, Failure)
    assert result.code == "EXPR_LIMIT"
