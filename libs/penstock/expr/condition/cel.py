"""`cel`: a CEL expression that gives true or false."""

from __future__ import annotations

from penstock.core.model.evaluate import Variables, Verdicts
from penstock.expr.cel.expression import Expression
from penstock.expr.condition.base import CompiledCondition


class CelCondition(CompiledCondition):
    def __init__(self, expression: Expression) -> None:
        self._expression = expression
        self.reads = expression.reads

    def verdict(self, variables: Variables, verdicts: Verdicts) -> bool:  # noqa: ARG002 - one shape for all
        return self._expression.verdict(variables)
