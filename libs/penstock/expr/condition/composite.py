"""`composite`: AND, OR and NOT over other conditions.

Strictly left to right: the first operand that decides ends it, and what stands behind is not evaluated. An operand
that fails before that fails the whole.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

from penstock.core.model.evaluate import Variables, Verdicts
from penstock.expr.condition.base import CompiledCondition

MAX_DEPTH: Final = 16

Operator: TypeAlias = Literal["AND", "OR", "NOT"]
OPERATORS: Final[tuple[Operator, ...]] = get_args(Operator)


class CompositeCondition(CompiledCondition):
    def __init__(self, operator: Operator, operands: tuple[CompiledCondition, ...]) -> None:
        self._operator = operator
        self._operands = operands
        self.reads = frozenset(path for operand in operands for path in operand.reads)
        self.programs = tuple(program for operand in operands for program in operand.programs)

    def verdict(self, variables: Variables, verdicts: Verdicts) -> bool:
        if self._operator == "NOT":
            return not self._operands[0].verdict(variables, verdicts)
        decisive = self._operator == "OR"
        for operand in self._operands:
            if operand.verdict(variables, verdicts) is decisive:
                return decisive
        return not decisive
