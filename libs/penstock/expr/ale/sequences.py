"""Sequences: lists, vectors, strings, objects as pairs, and null as the empty one.

Ale makes lazy sequences where these make vectors at once; so every name with a `!` is the same as without.
"""

from __future__ import annotations

from penstock.expr.ale.equality import same
from penstock.expr.ale.family import Family
from penstock.expr.ale.faults import RunError
from penstock.expr.ale.limits import Meter
from penstock.expr.ale.objects import as_pair
from penstock.expr.ale.values import CONTAINERS, Pair, Value, as_index, as_items, as_list, as_text, describe, wrong

FAMILY = Family()

_ABSENT = object()


@FAMILY("list")
def _list(meter: Meter, *values: Value) -> Value:
    meter.copy(len(values))
    return as_list(values)


@FAMILY("vector")
def _vector(meter: Meter, *values: Value) -> list[Value]:
    meter.copy(len(values))
    return list(values)


@FAMILY("seq->list")
def _to_list(meter: Meter, *sequences: Value) -> Value:
    return as_list(concat(meter, *sequences))


@FAMILY("concat", "concat!", "seq->vector")
def concat(meter: Meter, *sequences: Value) -> list[Value]:
    joined: list[Value] = []
    for sequence in sequences:
        items = as_items(meter, sequence)
        meter.copy(len(joined) + len(items))
        joined += items
    return joined


@FAMILY("seq")
def _seq(_: Meter, value: Value) -> Value:
    """The sequence if it has something in it, else false."""
    return value if type(value) in (list, tuple, str, dict) and value else False


@FAMILY("first", "car")
def _first(meter: Meter, sequence: Value) -> Value:
    if type(sequence) is Pair:
        return sequence.key
    items = as_items(meter, sequence)
    return items[0] if items else None


@FAMILY("rest", "cdr")
def _rest(meter: Meter, sequence: Value) -> Value:
    if type(sequence) is Pair:
        return sequence.value
    items = as_items(meter, sequence)
    meter.copy(len(items))
    return as_list(items[1:]) if type(items) is tuple else items[1:]


@FAMILY("last", "last!")
def _last(meter: Meter, sequence: Value) -> Value:
    items = as_items(meter, sequence)
    return items[-1] if items else None


@FAMILY("nth", "nth!")
def _nth(meter: Meter, sequence: Value, index: Value, default: Value = _ABSENT) -> Value:
    items, position = as_items(meter, sequence), as_index(index)
    if 0 <= position < len(items):
        return items[position]
    if default is _ABSENT:
        raise RunError(f"index {position} is out of bounds, the length is {len(items)}")
    return default


@FAMILY("length", "length!", "count")
def _length(_: Meter, sequence: Value) -> int:
    if type(sequence) in (list, tuple, str, dict):
        return len(sequence)
    if sequence is None:
        return 0
    raise wrong("a sequence", sequence)


@FAMILY("cons")
def _cons(meter: Meter, value: Value, sequence: Value) -> Value:
    items = as_items(meter, sequence)
    meter.copy(len(items))
    return (value, *items) if sequence is None or type(sequence) is tuple else [value, *items]


@FAMILY("append")
def _append(meter: Meter, sequence: Value, value: Value) -> list[Value]:
    if type(sequence) is not list:
        raise wrong("a vector", sequence)
    meter.copy(len(sequence))
    return [*sequence, value]


@FAMILY("conj", "conj*")
def _conj(meter: Meter, sequence: Value, *values: Value) -> Value:
    """A list grows at its head, a vector at its end, an object by pairs."""
    meter.spend(len(values))
    if type(sequence) is list:
        meter.copy(len(sequence))
        return [*sequence, *values]
    if type(sequence) is dict:
        meter.copy(len(sequence))
        return {**sequence, **dict(map(as_pair, values))}
    if sequence is None or type(sequence) is tuple:
        meter.copy(len(sequence or ()))
        return (*reversed(values), *(sequence or ())) or None
    raise wrong("a list, a vector or an object", sequence)


@FAMILY("range")
def _range(meter: Meter, first: Value, last: Value = _ABSENT, step: Value = _ABSENT) -> list[int]:
    """From the first, or 0, up or down to before the last."""
    start, end = (0, as_index(first)) if last is _ABSENT else (as_index(first), as_index(last))
    stride = as_index(step) if step is not _ABSENT else 1 if end >= start else -1
    if stride == 0:
        raise RunError("a range cannot have steps of 0")
    meter.copy(max(0, -((start - end) // stride)))
    return list(range(start, end, stride))


@FAMILY("take")
def _take(meter: Meter, count: Value, sequence: Value) -> list[Value]:
    return _slice(meter, sequence, 0, max(0, as_index(count)))


@FAMILY("drop")
def _drop(meter: Meter, count: Value, sequence: Value) -> list[Value]:
    return _slice(meter, sequence, max(0, as_index(count)), None)


def _slice(meter: Meter, sequence: Value, start: int, end: int | None) -> list[Value]:
    items = as_items(meter, sequence)[start:end]
    meter.copy(len(items))
    return list(items)


@FAMILY("partition")
def _partition(meter: Meter, size: Value, step: Value, sequence: Value = _ABSENT) -> list[Value]:
    """Vectors of `size` values, each starting `step` after the one before; the last may be short."""
    items = as_items(meter, step if sequence is _ABSENT else sequence)
    width = as_index(size)
    stride = width if sequence is _ABSENT else as_index(step)
    if width < 1 or stride < 1:
        raise RunError("a partition needs a size and a step of at least 1")
    parts: list[Value] = []
    for start in range(0, len(items), stride):
        part = items[start : start + width]
        meter.copy(len(part))
        parts.append(list(part))
    return parts


@FAMILY("reverse", "reverse!")
def _reverse(meter: Meter, sequence: Value) -> Value:
    items = as_items(meter, sequence)
    meter.copy(len(items))
    return items[::-1] or None if sequence is None or type(sequence) is tuple else items[::-1]


@FAMILY("zip")
def _zip(meter: Meter, sequence: Value, *more: Value) -> list[Value]:
    sequences = [as_items(meter, each) for each in (sequence, *more)]
    shortest = min(map(len, sequences))
    meter.copy(shortest * len(sequences))
    return list(zip(*(items[:shortest] for items in sequences), strict=True))


@FAMILY("index-of")
def _index_of(meter: Meter, sequence: Value, value: Value) -> Value:
    """The place of the first such value, or false."""
    items = as_items(meter, sequence)
    for index, item in enumerate(items):
        meter.spend(1)
        if same(meter, item, value):
            return index
    return False


@FAMILY("includes?")
def _includes(meter: Meter, sequence: Value, value: Value) -> bool:
    """A sequence holds a value, a string a string."""
    if type(sequence) is str:
        meter.scan(len(sequence) + len(as_text(value)))
        return as_text(value) in sequence
    return _index_of(meter, sequence, value) is not False


@FAMILY("distinct")
def _distinct(meter: Meter, sequence: Value) -> list[Value]:
    """Each value once, in the order of their first appearance."""
    kept: list[Value] = []
    scalars: set[tuple[str, Value]] = set()
    containers: list[Value] = []
    items = as_items(meter, sequence)
    meter.copy(len(items))
    for item in items:
        if type(item) in CONTAINERS:
            meter.spend(1 + len(containers))
            if any(same(meter, item, other) for other in containers):
                continue
            containers.append(item)
        else:
            mark = (describe(item), item)  # a boolean and a number are equal in Python
            if mark in scalars:
                continue
            scalars.add(mark)
        kept.append(item)
    return kept
