"""How values are spelled in strings: as the reader would read them, but a string on its own without quotes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from penstock.expr.ale.faults import BudgetError, RunError
from penstock.expr.ale.limits import Meter
from penstock.expr.ale.values import Builtin, Keyword, Lambda, Pair, Symbol, Value, describe

_ESCAPES = str.maketrans({'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"})
_SCALARS: dict[type, Callable[[Value], str]] = {
    type(None): lambda _: "()",
    bool: lambda value: "#t" if value else "#f",
    str: lambda value: f'"{value.translate(_ESCAPES)}"',
    int: str,
    Fraction: str,
    float: repr,
    Keyword: lambda value: f":{value.name}",
    Symbol: lambda value: str(value.name),
    Builtin: lambda value: str(value.name),
    Lambda: lambda _: "lambda",
}
_VALUE_COST = 6  # steps to spell one value
_ENDS: dict[type, str] = {tuple: "()", list: "[]", dict: "{}"}


def plain(meter: Meter, value: Value) -> str:
    """For `str`: a string is itself, null is nothing."""
    if type(value) is str:
        return value
    return "" if value is None else readable(meter, value)


def readable(meter: Meter, value: Value) -> str:
    parts: list[str] = []
    _spell(meter, value, parts, 0)
    written = "".join(parts)
    meter.write(len(written))
    return written


def _spell(meter: Meter, value: Value, parts: list[str], depth: int) -> None:
    meter.spend(_VALUE_COST)
    if depth > meter.limits.nesting:
        raise BudgetError("nesting")
    kind = type(value)
    if kind in _SCALARS:
        _check_size(meter, value)
        parts.append(_SCALARS[kind](value))
    elif kind is Pair:
        parts.append("(")
        _spell(meter, value.key, parts, depth + 1)
        parts.append(" . ")
        _spell(meter, value.value, parts, depth + 1)
        parts.append(")")
    elif kind in _ENDS:
        parts.append(_ENDS[kind][0])
        for index, item in enumerate(_flat(value) if kind is dict else value):
            if index:
                parts.append(" ")
            _spell(meter, item, parts, depth + 1)
        parts.append(_ENDS[kind][1])
    else:
        raise RunError(f"{describe(value)} cannot be written")


def _check_size(meter: Meter, value: Value) -> None:
    if type(value) is str:
        meter.write(len(value))
    elif type(value) is int and value.bit_length() > meter.limits.bits:
        raise BudgetError("number size")


def _flat(members: dict[str, Value]) -> Iterator[Value]:
    for name, value in members.items():
        yield Keyword(name)
        yield value
