"""When two values are the same. Paid per value compared: shared structure can be exponential when unfolded."""

from __future__ import annotations

from penstock.expr.ale.limits import Meter
from penstock.expr.ale.values import NUMBERS, Pair, Value

_FREE_LENGTH = 256  # characters compared within the price of one form


def same(meter: Meter, left: Value, right: Value) -> bool:
    """Whole numbers are the same however they are written: 1 is 1.0. A boolean is not a number."""
    pairs = [(left, right)]
    while pairs:
        left, right = pairs.pop()
        if left is right:
            continue
        kind = type(left)
        if kind in NUMBERS:
            if type(right) not in NUMBERS or left != right:
                return False
        elif kind is not type(right):
            return False
        elif kind is list or kind is tuple:
            if len(left) != len(right):
                return False
            meter.spend(1 + len(left))
            pairs.extend(zip(left, right, strict=True))
        elif kind is dict:
            if left.keys() != right.keys():
                return False
            meter.spend(1 + len(left))
            pairs.extend((left[name], right[name]) for name in left)
        elif kind is Pair:
            meter.spend(1)
            pairs += ((left.key, right.key), (left.value, right.value))
        else:
            if kind is str and len(left) > _FREE_LENGTH:
                meter.spend(len(left) // _FREE_LENGTH)
            if left != right:
                return False
    return True
