"""Applies a JSON Patch (RFC 6902) to a definition, which itself stays as it is.

Only what lies on the way to a change is copied. What a patch may cost is bounded before it is spent: the number of
its operations, and the size and depth of every value that one of them writes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from penstock.core.definition.check import MAX_BYTES, MAX_DEPTH
from penstock.core.definition.patch.errors import PatchMalformed, PatchPathInvalid, PatchTestFailed, PatchTooLarge
from penstock.core.definition.patch.pointer import Misfit, at, segments, trail

Json: TypeAlias = Any

MAX_OPERATIONS: Final = 1_000

_MEMBERS: Final = {
    "add": ("path", "value"),
    "remove": ("path",),
    "replace": ("path", "value"),
    "move": ("path", "from"),
    "copy": ("path", "from"),
    "test": ("path", "value"),
}


def apply(definition: Json, operations: Sequence[Json]) -> Json:
    """The definition that the operations lead to, in their order. Raises `PatchError`; then nothing was applied."""
    if len(operations) > MAX_OPERATIONS:
        raise PatchTooLarge(index=MAX_OPERATIONS, reason=f"more than {MAX_OPERATIONS:,} operations")
    left = MAX_BYTES
    for index, operation in enumerate(operations):
        _check_form(index, operation)
        try:
            value = _value(definition, operation)
            if operation["op"] != "move":  # it adds nothing
                left -= _weight(value, left, index)
            definition = _CHANGES[operation["op"]](definition, operation, value)
        except Misfit as misfit:
            raise PatchPathInvalid(
                index=index, op=operation["op"], path=operation["path"], reason=misfit.reason
            ) from None
        except _Different:
            raise PatchTestFailed(index=index, path=operation["path"]) from None
    return definition


class _Different(Exception):
    """A `test` found something else."""


def _check_form(index: int, operation: Json) -> None:
    if not isinstance(operation, dict):
        raise PatchMalformed(index=index, reason="it is no object")
    members = _MEMBERS.get(operation["op"]) if isinstance(operation.get("op"), str) else None
    if members is None:
        raise PatchMalformed(index=index, reason=f"`op` is one of {', '.join(_MEMBERS)}")
    for member in members:
        if member not in operation:
            raise PatchMalformed(index=index, reason=f"`{member}` is missing")
        if member != "value" and not isinstance(operation[member], str):
            raise PatchMalformed(index=index, reason=f"`{member}` is no text")
    if any(operation[member].count("/") > MAX_DEPTH for member in members if member != "value"):
        raise PatchTooLarge(index=index, reason=f"a path of operation {index} is deeper than {MAX_DEPTH} levels")


def _value(document: Json, operation: Json) -> Json:
    """What is written, or compared with."""
    if "from" in _MEMBERS[operation["op"]]:
        return _found(document, operation["from"])
    return operation.get("value")


def _found(document: Json, path: str) -> Json:
    way = trail(document, segments(path))
    return at(*way[-1]) if way else document


def _weight(value: Json, most: int, index: int) -> int:
    """About as many bytes as it has. Counted level by level, so that neither depth nor repetition can hurt."""
    weight, depth, level = 0, 0, [value]
    while level:
        inner: list[Json] = []
        for item in level:
            weight += 2 + (len(item) if isinstance(item, str) else 0)
            if isinstance(item, dict):
                weight += sum(map(len, item))
                inner += item.values()
            elif isinstance(item, list):
                inner += item
            if weight + 2 * len(inner) > most:
                raise PatchTooLarge(index=index, reason=f"its operations write more than {MAX_BYTES:,} bytes")
        level, depth = inner, depth + 1
        if level and depth > MAX_DEPTH:
            reason = f"a value of operation {index} nests deeper than {MAX_DEPTH} levels"
            raise PatchTooLarge(index=index, reason=reason)
    return weight


def _changed(document: Json, path: str, change: Callable[[Json, Any], None]) -> Json:
    """A copy with one container changed; what does not lie on the way is shared."""
    way = trail(document, segments(path))
    new: Json = None
    for depth, (container, key) in enumerate(reversed(way)):
        copy = container.copy()
        if depth == 0:
            change(copy, key)
        else:
            copy[key] = new
        new = copy
    return new


def _add(document: Json, operation: Json, value: Json) -> Json:
    def change(container: Json, key: Any) -> None:  # noqa: ANN401 - a key or an index
        if isinstance(container, list):
            if key > len(container):
                reason = f"the list has only {len(container)} items"
                raise Misfit(reason)
            container.insert(key, value)
        else:
            container[key] = value

    return _changed(document, operation["path"], change) if operation["path"] else value


def _remove(document: Json, operation: Json, _: Json) -> Json:
    return _without(document, operation["path"])


def _without(document: Json, path: str) -> Json:
    if not path:
        reason = "the whole definition cannot be removed"
        raise Misfit(reason)

    def change(container: Json, key: Any) -> None:  # noqa: ANN401 - a key or an index
        at(container, key)
        del container[key]

    return _changed(document, path, change)


def _replace(document: Json, operation: Json, value: Json) -> Json:
    def change(container: Json, key: Any) -> None:  # noqa: ANN401 - a key or an index
        at(container, key)
        container[key] = value

    return _changed(document, operation["path"], change) if operation["path"] else value


def _move(document: Json, operation: Json, value: Json) -> Json:
    if operation["path"].startswith(operation["from"] + "/"):
        reason = "a value cannot be moved into itself"
        raise Misfit(reason)
    return _add(_without(document, operation["from"]), operation, value)


def _copy(document: Json, operation: Json, value: Json) -> Json:
    return _add(document, operation, value)


def _test(document: Json, operation: Json, value: Json) -> Json:
    if not equal(_found(document, operation["path"]), value):
        raise _Different
    return document


def equal(first: Json, second: Json) -> bool:
    """As RFC 6902 compares: numbers by value, objects regardless of the order of their keys."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(equal(value, second[key]) for key, value in first.items())
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(equal, first, second))
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    return bool(first == second)


_CHANGES: Final[dict[str, Callable[[Json, Json, Json], Json]]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
