"""Questions about one value. Each takes one or more values and holds if it holds for all; `!name?` is its opposite."""

from __future__ import annotations

from collections.abc import Callable

from penstock.expr.ale.arithmetic import as_number
from penstock.expr.ale.family import Family
from penstock.expr.ale.faults import RunError
from penstock.expr.ale.limits import Meter
from penstock.expr.ale.values import NUMBERS, PROCEDURES, Keyword, Pair, Symbol, Value, as_index, describe

FAMILY = Family()

_SEQUENCES = frozenset((list, tuple, str, dict, type(None)))


def _is_empty(value: Value) -> bool:
    if type(value) not in _SEQUENCES:
        raise RunError(f"expected a sequence, got {describe(value)}")
    return not value


_TESTS: dict[str, Callable[[Value], bool]] = {
    "null": lambda value: value is None,
    "nil": lambda value: value is None,
    "boolean": lambda value: type(value) is bool,
    "true": lambda value: value is True,
    "false": lambda value: value is False,
    "number": lambda value: type(value) in NUMBERS,
    "integer": lambda value: type(value) is int,
    "string": lambda value: type(value) is str,
    "keyword": lambda value: type(value) is Keyword,
    "symbol": lambda value: type(value) is Symbol,
    "list": lambda value: type(value) is tuple or value is None,
    "vector": lambda value: type(value) is list,
    "object": lambda value: type(value) is dict,
    "mapped": lambda value: type(value) is dict,
    "pair": lambda value: type(value) is Pair,
    "procedure": lambda value: type(value) in PROCEDURES,
    "seq": lambda value: type(value) in _SEQUENCES,
    "empty": _is_empty,
    "zero": lambda value: bool(as_number(value) == 0),
    "positive": lambda value: bool(as_number(value) > 0),
    "negative": lambda value: bool(as_number(value) < 0),
    "even": lambda value: as_index(value) % 2 == 0,
    "odd": lambda value: as_index(value) % 2 == 1,
}


def _all(test: Callable[[Value], bool]) -> Callable[..., bool]:
    def holds(meter: Meter, first: Value, *rest: Value) -> bool:
        meter.spend(len(rest))
        return test(first) and all(map(test, rest))

    return holds


def _none(test: Callable[[Value], bool]) -> Callable[..., bool]:
    def holds(meter: Meter, first: Value, *rest: Value) -> bool:
        meter.spend(len(rest))
        return not test(first) and not any(map(test, rest))

    return holds


for _name, _test in _TESTS.items():
    FAMILY(f"{_name}?")(_all(_test))
    FAMILY(f"!{_name}?")(_none(_test))


@FAMILY("not")
def _not(_: Meter, value: Value) -> bool:
    return value is False
