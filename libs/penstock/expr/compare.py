"""Comparison of JSON values by name: the operators that conditions spell as words.

JSON has one kind of number and no order between kinds: `1` equals `1.0` but not `true`, and asking whether a
string is less than a number is a mistake, not a no.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from penstock.core.model.evaluate import Json
from penstock.expr.errors import EvaluationError
from penstock.expr.values import type_name

Compare: TypeAlias = Callable[[Json, Json], bool]


def equal(left: Json, right: Json) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(value, right[key]) for key, value in left.items())
    return bool(left == right)


def ordered(left: Json, right: Json) -> bool:
    """Whether there is an order between the two: both numbers, or both strings."""
    if isinstance(left, bool) or isinstance(right, bool):
        return False
    return (isinstance(left, int | float) and isinstance(right, int | float)) or (
        isinstance(left, str) and isinstance(right, str)
    )


def contains(container: Json, item: Json) -> bool:
    """A list holds an equal element, an object has the key, a string has the part."""
    if isinstance(container, list):
        return any(equal(element, item) for element in container)
    if isinstance(container, dict) or (isinstance(container, str) and isinstance(item, str)):
        return isinstance(item, str) and item in container
    raise EvaluationError(language="comparison", reason=f"{type_name(container)} cannot contain {type_name(item)}")


def _order(symbol: str, test: Callable[[Json, Json], bool]) -> Compare:
    def compare(left: Json, right: Json) -> bool:
        if not ordered(left, right):
            reason = f"{type_name(left)} and {type_name(right)} have no order for `{symbol}`"
            raise EvaluationError(language="comparison", reason=reason)
        return test(left, right)

    return compare


COMPARISONS: Final[Mapping[str, Compare]] = {
    "==": equal,
    "!=": lambda left, right: not equal(left, right),
    "<": _order("<", operator.lt),
    "<=": _order("<=", operator.le),
    ">": _order(">", operator.gt),
    ">=": _order(">=", operator.ge),
    "in": lambda left, right: contains(right, left),
    "contains": contains,
}
