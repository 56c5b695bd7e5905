from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.core.definition import Checked, check, compile_definition
from penstock.core.model.graph import GraphRule
from penstock.expr.evaluator import ExpressionEvaluator
from penstock.notation import read_text


@pytest.fixture(scope="session")
def evaluator() -> ExpressionEvaluator:
    return ExpressionEvaluator()


@pytest.fixture
def compiled(evaluator: ExpressionEvaluator) -> Callable[[str], GraphRule]:
    """Text to graph; warnings are allowed."""
    return lambda text: compile_definition(read_text(text).data, evaluator=evaluator)


@pytest.fixture
def checked(evaluator: ExpressionEvaluator) -> Callable[..., Checked]:
    def check_text(text: str, **options: Any) -> Checked:  # noqa: ANN401 - those of `check`
        data, places = read_text(text)
        return check(data, evaluator=evaluator, places=places, **options)

    return check_text
