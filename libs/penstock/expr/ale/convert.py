"""The result of a program as JSON. There is nothing to do on the way in: JSON values are Ale values."""

from __future__ import annotations

import math
from fractions import Fraction

from penstock.expr.ale.faults import BudgetError, RunError
from penstock.expr.ale.limits import Meter
from penstock.expr.ale.values import Keyword, Pair, Symbol, Value, describe

_LEAST, _MOST = -(2**63), 2**64 - 1  # the integers that our encoders can write
_CONTAINER_COST = 4  # steps, besides one per member
_AS_THEY_ARE = frozenset((type(None), bool, str))


def to_json(meter: Meter, value: Value, depth: int = 0) -> object:
    """A copy that shares nothing with the program or its input. Lists and pairs become arrays, ratios floats."""
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    if kind is not dict and kind is not list and kind is not tuple and kind is not Pair:
        return _scalar(value)
    if depth >= meter.limits.nesting:
        raise BudgetError("nesting")
    if kind is Pair:
        value = (value.key, value.value)
    meter.copy(len(value))
    meter.spend(_CONTAINER_COST + len(value))
    if kind is dict:
        members = {}
        for name, member in value.items():
            members[name] = to_json(meter, member, depth + 1)
        return members
    items = []
    for item in value:
        items.append(to_json(meter, item, depth + 1))  # noqa: PERF401 - a comprehension is one more frame per level
    return items


def _scalar(value: Value) -> object:
    kind = type(value)
    if kind is int:
        if _LEAST <= value <= _MOST:
            return value
        raise RunError("the integer does not fit into 64 bits")
    if kind is float or kind is Fraction:
        return _float(value)
    if kind is Keyword or kind is Symbol:
        return value.name
    raise RunError(f"{describe(value)} cannot be a result")


def _float(number: float | Fraction) -> float:
    try:
        converted = float(number)
    except OverflowError:
        converted = math.inf
    if math.isfinite(converted):
        return converted
    raise RunError("the number is out of range")
