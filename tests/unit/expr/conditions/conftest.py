"""Both CEL engines, for every test that evaluates CEL."""

from __future__ import annotations

import pytest

from penstock.expr.cel.compile import EngineName
from penstock.expr.evaluator import ExpressionEvaluator

ENGINES: tuple[EngineName, ...] = ("cel-expr-python", "cel-python")


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> EngineName:
    name: EngineName = request.param
    return name


@pytest.fixture
def evaluator(engine: EngineName) -> ExpressionEvaluator:
    return ExpressionEvaluator(engine)
