"""JSON values from outside: checked once, where they come in, so that everything behind can carry them."""

from __future__ import annotations

from math import isfinite
from types import NoneType
from typing import Any, Final, TypeAlias

import msgspec

Json: TypeAlias = Any

DEPTH: Final = 64
"""Levels of lists and objects inside each other."""

_LOWEST, _HIGHEST = -(2**63), 2**64 - 1
_PLAIN = frozenset({str, bool, NoneType})


def check_json(value: Json, depth: int = DEPTH) -> None:
    """Raises `msgspec.ValidationError` on what is no JSON, nests too deep, or has integers of more than 64 bits."""
    kind = type(value)
    if kind in _PLAIN:
        return
    if kind is dict or kind is list:
        if not depth:
            raise msgspec.ValidationError(f"values nest deeper than {DEPTH} levels")
        if kind is dict:
            _check_keys(value)
            value = value.values()
        for item in value:
            check_json(item, depth - 1)
    elif kind is int:
        if not _LOWEST <= value <= _HIGHEST:
            raise msgspec.ValidationError("an integer has more than 64 bits")
    elif kind is not float:
        raise msgspec.ValidationError(f"{kind.__name__} is no JSON")
    elif not isfinite(value):
        raise msgspec.ValidationError(f"{value} is no JSON number")


def _check_keys(value: dict[Json, Json]) -> None:
    for key in value:
        if type(key) is not str:
            raise msgspec.ValidationError("the keys of an object are strings")
