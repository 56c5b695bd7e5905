"""Sequences walked with a procedure: map, filter, folds, sorting."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import dropwhile, takewhile

from penstock.expr.ale.calls import call
from penstock.expr.ale.family import Family
from penstock.expr.ale.faults import RunError
from penstock.expr.ale.limits import Meter
from penstock.expr.ale.sequences import concat
from penstock.expr.ale.values import NUMBERS, Value, as_items

FAMILY = Family()

_ABSENT = object()
_SORT_COST = 4  # steps per value: an ordinary sort compares it about that often for the price of a form


def _each(meter: Meter, sequence: Value) -> Sequence[Value]:
    """The items of a sequence that is about to be walked, paid for."""
    items = as_items(meter, sequence)
    meter.spend(1 + len(items))
    return items


@FAMILY("map", "map!")
def _map(meter: Meter, function: Value, sequence: Value, *more: Value) -> list[Value]:
    """With several sequences, as long as the shortest."""
    sequences = [_each(meter, each) for each in (sequence, *more)]
    return [call(meter, function, arguments) for arguments in zip(*sequences, strict=False)]


@FAMILY("mapcat")
def _mapcat(meter: Meter, function: Value, sequence: Value, *more: Value) -> list[Value]:
    return concat(meter, *_map(meter, function, sequence, *more))


@FAMILY("filter")
def _filter(meter: Meter, test: Value, sequence: Value) -> list[Value]:
    return [item for item in _each(meter, sequence) if call(meter, test, (item,)) is not False]


@FAMILY("any")
def _any(meter: Meter, test: Value, sequence: Value) -> bool:
    return any(call(meter, test, (item,)) is not False for item in _each(meter, sequence))


@FAMILY("all")
def _all(meter: Meter, test: Value, sequence: Value) -> bool:
    return all(call(meter, test, (item,)) is not False for item in _each(meter, sequence))


@FAMILY("take-while")
def _take_while(meter: Meter, test: Value, sequence: Value) -> list[Value]:
    return list(takewhile(lambda item: call(meter, test, (item,)) is not False, _each(meter, sequence)))


@FAMILY("drop-while")
def _drop_while(meter: Meter, test: Value, sequence: Value) -> list[Value]:
    return list(dropwhile(lambda item: call(meter, test, (item,)) is not False, _each(meter, sequence)))


@FAMILY("fold-left", "foldl", "reduce")
def _fold_left(meter: Meter, function: Value, first: Value, sequence: Value = _ABSENT) -> Value:
    """`(function so-far item)`; without a first value, the first item is it."""
    so_far, items = _fold_over(meter, function, first, sequence, 1)
    for item in items:
        so_far = call(meter, function, (so_far, item))
    return so_far


@FAMILY("fold-right", "fold-right!", "foldr")
def _fold_right(meter: Meter, function: Value, first: Value, sequence: Value = _ABSENT) -> Value:
    """`(function item so-far)`, from the end."""
    so_far, items = _fold_over(meter, function, first, sequence, -1)
    for item in items:
        so_far = call(meter, function, (item, so_far))
    return so_far


def _fold_over(
    meter: Meter, function: Value, first: Value, sequence: Value, direction: int
) -> tuple[Value, Sequence[Value]]:
    if sequence is not _ABSENT:
        return first, _each(meter, sequence)[::direction]
    items = _each(meter, first)[::direction]
    return (items[0], items[1:]) if items else (call(meter, function, ()), ())


@FAMILY("sort")
def _sort(meter: Meter, sequence: Value) -> list[Value]:
    items = as_items(meter, sequence)
    _check_order(meter, items)
    return sorted(items)


@FAMILY("sort-by")
def _sort_by(meter: Meter, function: Value, sequence: Value) -> list[Value]:
    """By what the procedure gives for each; equals keep their order."""
    items = as_items(meter, sequence)
    keys = _map(meter, function, sequence)
    _check_order(meter, keys)
    return [items[index] for index in sorted(range(len(items)), key=keys.__getitem__)]


def _check_order(meter: Meter, keys: Sequence[Value]) -> None:
    """Only numbers with numbers, or strings with strings, have an order."""
    meter.copy(len(keys))
    meter.spend(_SORT_COST * len(keys))
    if all(type(key) is str for key in keys):
        meter.scan(sum(map(len, keys)) * len(keys).bit_length())
    elif not all(type(key) in NUMBERS for key in keys):
        raise RunError("can sort only numbers, or only strings")
