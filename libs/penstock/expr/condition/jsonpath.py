"""`jsonpath`: a query over the current output, and an operator over what it finds.

Finding nothing is not an error: comparisons are false, lengths, counts and sums see 0. A query of names and
indices finds at most one value, and operators look at that value; any other finds a list, and a comparison is
true if one of the found values satisfies it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeAlias

from penstock.core.model.evaluate import Json, Variables, Verdicts
from penstock.expr.compare import COMPARISONS, Compare, contains
from penstock.expr.condition.base import CompiledCondition, Fields
from penstock.expr.errors import EvaluationError
from penstock.expr.jsonpath.query import Query, compile_query, length_of
from penstock.expr.values import type_name

_Found: TypeAlias = list[Json]
_Test: TypeAlias = Callable[[_Found], bool]

_SUFFIXES: Final = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "lte": "<=", "gt": ">", "ge": ">=", "gte": ">="}
_FOLDED: Final = frozenset(f"{fold}_{suffix}" for fold in ("count", "sum") for suffix in _SUFFIXES)
OPERATORS: Final = (*COMPARISONS, "exists", *sorted(_FOLDED))


class JsonPathCondition(CompiledCondition):
    def __init__(self, query: Query, test: _Test) -> None:
        self._find = query.find
        self._test = test
        self.reads = frozenset(("output", *path) for path in query.reads)

    def verdict(self, variables: Variables, verdicts: Verdicts) -> bool:  # noqa: ARG002 - one shape for all
        if "output" not in variables:
            raise EvaluationError(language="jsonpath", reason="there is no `output` here")
        output = variables["output"]
        return self._test(self._find(output, output))


def compile_jsonpath(fields: Fields) -> JsonPathCondition:
    source = fields.text("query", expected="a JSONPath query, like `$.items[*].price`")
    operator = str(fields.optional("operator", str, expected="an operator", default="exists"))
    if operator not in OPERATORS:
        raise fields.invalid(f"there is no operator `{operator}`", f"one of {', '.join(OPERATORS)}")
    query = compile_query(source)
    if operator == "exists":
        wanted = fields.optional("value", bool, expected="true, false or nothing", default=True)
        return JsonPathCondition(query, lambda found: bool(found) is wanted)
    if not fields.has("value"):
        raise fields.invalid(f"`{operator}` has nothing to compare with", "a `value`")
    value = fields.optional("value", expected="any value")
    fold = length_of if query.length else _FOLDS.get(operator.partition("_")[0])
    if fold is None:
        return JsonPathCondition(query, _comparison(query, operator, value))
    if operator in _FOLDED:
        if query.length:
            raise fields.invalid(f"`.length()` and `{operator}` count twice", "one of them")
        operator = _SUFFIXES[operator.partition("_")[2]]
    compare = COMPARISONS[operator]
    number = partial(fold, singular=query.singular)
    return JsonPathCondition(query, lambda found: compare(number(found), value))


def _comparison(query: Query, operator: str, value: Json) -> _Test:
    compare: Compare = COMPARISONS[operator]
    if query.singular:
        return lambda found: bool(found) and compare(found[0], value)
    if operator == "contains":
        return lambda found: contains(found, value)
    return lambda found: any(compare(one, value) for one in found)


def _count(found: _Found, *, singular: bool) -> int:
    return len(_elements(found, singular=singular))


def _sum(found: _Found, *, singular: bool) -> int | float:
    numbers = _elements(found, singular=singular)
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise EvaluationError(language="jsonpath", reason=f"{type_name(number)} cannot be summed")
    return sum(numbers)


def _elements(found: _Found, *, singular: bool) -> _Found:
    """A query that names one list means its elements."""
    return found[0] if singular and found and isinstance(found[0], list) else found


_FOLDS: Final[Mapping[str, Callable[..., int | float]]] = {"count": _count, "sum": _sum}
