"""When two values are the same. Paid per value compared: shared structure can be exponential when unfolded."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.expr.ale.limits import Meter
from penstock.expr.ale.values import CONTAINERS, NUMBERS, Pair, Value

_CONTAINER_COST = 10  # steps, besides one per member
_FREE_LENGTH = 64  # characters compared within the price of one form


def same(meter: Meter, left: Value, right: Value) -> bool:
    """Whole numbers are the same however they are written: 1 is 1.0. A boolean is not a number."""
    if type(left) not in CONTAINERS:
        return _same_scalar(meter, left, right)
    pairs = [(left, right)]
    while pairs:
        left, right = pairs.pop()
        if left is right:
            continue
        if type(left) is type(right) and type(left) in CONTAINERS:
            members = _paired_members(meter, left, right)
            if members is None:
                return False
            pairs += members
        elif not _same_scalar(meter, left, right):
            return False
    return True


def _paired_members(meter: Meter, left: Value, right: Value) -> Iterable[tuple[Value, Value]] | None:
    """What must be the same for two containers of one kind to be; nothing if they cannot be."""
    if type(left) is Pair:
        meter.spend(_CONTAINER_COST)
        return (left.key, right.key), (left.value, right.value)
    if len(left) != len(right):
        return None
    meter.spend(_CONTAINER_COST + len(left))
    if type(left) is not dict:
        return zip(left, right, strict=True)
    return [(left[name], right[name]) for name in left] if left.keys() == right.keys() else None


def _same_scalar(meter: Meter, left: Value, right: Value) -> bool:
    kind = type(left)
    if kind in NUMBERS:
        return type(right) in NUMBERS and bool(left == right)
    if kind is str and len(left) > _FREE_LENGTH:
        meter.scan(len(left))
    return kind is type(right) and bool(left == right)
