"""Objects: maps from keywords, or strings, to values. Changing one makes another."""

from __future__ import annotations

from penstock.expr.ale.family import Family
from penstock.expr.ale.faults import RunError
from penstock.expr.ale.limits import Meter
from penstock.expr.ale.values import Keyword, Pair, Value, as_items, as_key, as_object, wrong

FAMILY = Family()

_ABSENT = object()


def as_pair(value: Value) -> tuple[str, Value]:
    """An entry: a pair, or a sequence of two."""
    if type(value) is Pair:
        return as_key(value.key), value.value
    if type(value) in (list, tuple) and len(value) == 2:  # noqa: PLR2004 - a pair
        return as_key(value[0]), value[1]
    raise wrong("a pair (key . value)", value)


def _pairs(values: tuple[Value, ...]) -> dict[str, Value]:
    if len(values) % 2:
        raise RunError("a key has no value")
    return {as_key(key): value for key, value in zip(values[::2], values[1::2], strict=True)}


@FAMILY("object")
def _object(meter: Meter, *keys_and_values: Value) -> dict[str, Value]:
    meter.copy(len(keys_and_values))
    return _pairs(keys_and_values)


@FAMILY("seq->object")
def _to_object(meter: Meter, *sequences: Value) -> dict[str, Value]:
    """From keys and values in turn."""
    flat: list[Value] = []
    for sequence in sequences:
        flat += as_items(meter, sequence)
        meter.copy(len(flat))
    return _pairs(tuple(flat))


@FAMILY("get")
def _get(_: Meter, target: Value, key: Value, default: Value = _ABSENT) -> Value:
    """Unlike `(:key object)`, a missing key without a default is an error."""
    found = as_object(target).get(as_key(key), default)
    if found is _ABSENT:
        raise RunError(f"key :{as_key(key)[:40]} not found")
    return found


@FAMILY("contains?")
def _contains(_: Meter, target: Value, key: Value) -> bool:
    return type(target) is dict and as_key(key) in target


@FAMILY("assoc", "assoc*")
def _assoc(meter: Meter, target: Value, *entries: Value) -> dict[str, Value]:
    """`(assoc object (key . value) …)`, and, beyond Ale, `(assoc object key value …)`."""
    meter.copy(len(as_object(target)) + len(entries))
    paired = all(type(entry) in (Pair, list, tuple) for entry in entries)
    return {**target, **(dict(map(as_pair, entries)) if paired else _pairs(entries))}


@FAMILY("dissoc", "dissoc*")
def _dissoc(meter: Meter, target: Value, *keys: Value) -> dict[str, Value]:
    meter.copy(len(as_object(target)) + len(keys))
    gone = set(map(as_key, keys))
    return {name: value for name, value in target.items() if name not in gone}


@FAMILY("merge")
def _merge(meter: Meter, *objects: Value) -> dict[str, Value]:
    """Later ones win."""
    merged: dict[str, Value] = {}
    for each in objects:
        meter.copy(len(merged) + len(as_object(each)))
        merged.update(each)
    return merged


@FAMILY("keys")
def _keys(meter: Meter, target: Value) -> list[Keyword]:
    meter.copy(len(as_object(target)))
    return [Keyword(name) for name in target]


@FAMILY("vals")
def _vals(meter: Meter, target: Value) -> list[Value]:
    meter.copy(len(as_object(target)))
    return list(target.values())
