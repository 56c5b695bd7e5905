"""A compiled program: run it, or test it, any number of times, from any thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeGuard

from penstock.expr.ale.compiler import compile_program
from penstock.expr.ale.convert import to_json
from penstock.expr.ale.faults import BudgetError, ComplexityError, RunError, SourceError
from penstock.expr.ale.limits import DEFAULT, Limits, Meter
from penstock.expr.ale.reader import read
from penstock.expr.ale.values import Template, Value
from penstock.expr.errors import CompileError, EvaluationError, ExpressionTooComplex, LimitExceeded

LANGUAGE = "Ale"


def compile_ale(source: str, arguments: Sequence[str], *, limits: Limits = DEFAULT) -> AleProgram:
    """Compile a source in which the names of `arguments` are bound; raises `CompileError` with the place."""
    names = tuple(sorted(set(arguments)))
    try:
        template = compile_program(read(source, limits), names, limits)
    except ComplexityError as error:
        raise ExpressionTooComplex(
            language=LANGUAGE,
            reason=error.reason,
            limit=error.limit,
            expected=error.expected,
            **_place(source, error.at),
        ) from None
    except RecursionError:
        raise ExpressionTooComplex(
            language=LANGUAGE,
            reason="the source is nested too deep for the stack of the caller",
            limit=f"{limits.nesting} levels",
            expected="a caller with more room, or less nesting",
            line=1,
            column=1,
        ) from None
    except SourceError as error:
        raise CompileError(
            language=LANGUAGE, reason=error.reason, expected=error.expected, **_place(source, error.at)
        ) from None
    return AleProgram(source, names, template, limits)


class AleProgram:
    """Pure: the same values give the same result, or the same error."""

    __slots__ = ("_limits", "_source", "_template", "arguments")

    def __init__(self, source: str, arguments: tuple[str, ...], template: Template, limits: Limits) -> None:
        self.arguments = arguments
        self._source = source
        self._template = template
        self._limits = limits

    def run(self, values: Mapping[str, object]) -> object:
        """The result as JSON; an argument that is not among the values is null."""
        meter = Meter(self._limits, self._template.cost)
        try:
            return to_json(meter, self._evaluate(meter, values))
        except RunError as error:
            raise self._failure(error) from None
        except RecursionError:
            raise self._failure(BudgetError("recursion depth")) from None

    def test(self, values: Mapping[str, object]) -> bool:
        """Whether the result is anything but `false`: null, 0 and "" pass."""
        meter = Meter(self._limits, self._template.cost)
        try:
            return self._evaluate(meter, values) is not False
        except RunError as error:
            raise self._failure(error) from None
        except RecursionError:
            raise self._failure(BudgetError("recursion depth")) from None

    def _evaluate(self, meter: Meter, values: Mapping[str, object]) -> Value:
        template = self._template
        meter.depth = template.height
        return template.body([meter, None, *map(values.get, self.arguments), *template.padding])

    def _failure(self, error: RunError) -> EvaluationError:
        place = _place(self._source, error.at or 0)
        if isinstance(error, BudgetError):
            return LimitExceeded(language=LANGUAGE, limit=error.limit, reason=error.reason, **place)
        return EvaluationError(language=LANGUAGE, reason=error.reason, **place)


def is_object(result: object) -> TypeGuard[dict[str, object]]:
    """Whether a result is an object, whose members are named outputs; anything else is one value."""
    return isinstance(result, dict)


def _place(source: str, at: int) -> dict[str, int]:
    return {"line": source.count("\n", 0, at) + 1, "column": at - source.rfind("\n", 0, at)}
