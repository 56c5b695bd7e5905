"""Strings. Ale itself has `str` and `str!`; the rest is ours, and works on characters."""

from __future__ import annotations

from penstock.expr.ale.family import Family
from penstock.expr.ale.faults import RunError
from penstock.expr.ale.limits import Meter
from penstock.expr.ale.printing import plain, readable
from penstock.expr.ale.values import Keyword, Symbol, Value, as_index, as_items, as_text, wrong

FAMILY = Family()


def _joined(meter: Meter, separator: str, parts: list[str]) -> str:
    meter.spend(len(parts))
    meter.write(sum(map(len, parts)) + len(separator) * max(0, len(parts) - 1))
    return separator.join(parts)


@FAMILY("str")
def _str(meter: Meter, *values: Value) -> str:
    return _joined(meter, "", [plain(meter, value) for value in values])


@FAMILY("str!")
def _readable(meter: Meter, *values: Value) -> str:
    return _joined(meter, " ", [readable(meter, value) for value in values])


@FAMILY("join")
def _join(meter: Meter, separator: Value, values: Value) -> str:
    return _joined(meter, as_text(separator), [plain(meter, value) for value in as_items(meter, values)])


@FAMILY("split")
def _split(meter: Meter, value: Value, separator: Value) -> list[str]:
    text, separator = as_text(value), as_text(separator)
    if not separator:
        raise RunError("cannot split at an empty string")
    meter.scan(len(text))
    meter.copy(text.count(separator) + 1)
    return text.split(separator)


@FAMILY("replace")
def _replace(meter: Meter, value: Value, old: Value, new: Value) -> str:
    text, old, new = as_text(value), as_text(old), as_text(new)
    if not old:
        raise RunError("cannot replace an empty string")
    meter.scan(len(text))
    meter.write(len(text) + text.count(old) * (len(new) - len(old)))
    return text.replace(old, new)


@FAMILY("upper")
def _upper(meter: Meter, value: Value) -> str:
    meter.write(len(as_text(value)))
    return as_text(value).upper()


@FAMILY("lower")
def _lower(meter: Meter, value: Value) -> str:
    meter.write(len(as_text(value)))
    return as_text(value).lower()


@FAMILY("trim")
def _trim(meter: Meter, value: Value) -> str:
    meter.write(len(as_text(value)))
    return as_text(value).strip()


@FAMILY("substring")
def _substring(meter: Meter, value: Value, start: Value, end: Value = None) -> str:
    text, first = as_text(value), as_index(start)
    last = len(text) if end is None else as_index(end)
    if not 0 <= first <= last <= len(text):
        raise RunError("index out of bounds")
    meter.write(last - first)
    return text[first:last]


@FAMILY("starts-with?")
def _starts_with(meter: Meter, value: Value, prefix: Value) -> bool:
    meter.scan(len(as_text(prefix)))
    return as_text(value).startswith(as_text(prefix))


@FAMILY("ends-with?")
def _ends_with(meter: Meter, value: Value, suffix: Value) -> bool:
    meter.scan(len(as_text(suffix)))
    return as_text(value).endswith(as_text(suffix))


@FAMILY("keyword")
def _keyword(_: Meter, value: Value) -> Keyword:
    return value if type(value) is Keyword else Keyword(as_text(value))


@FAMILY("name")
def _name(_: Meter, value: Value) -> str:
    if type(value) is Keyword or type(value) is Symbol:
        return value.name
    raise wrong("a keyword or a symbol", value)
