"""What leads from one definition to another: as a JSON Patch that can be applied, and as a summary for people.

Order counts, of keys as well: a definition's hash is made of it, and so is the order of what the engine builds.
Nodes and transitions are followed by name, so that a change reads as one and not as a new list.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from typing import Any, TypeAlias

from penstock.core.definition.patch.apply import MAX_OPERATIONS
from penstock.core.definition.patch.pointer import END, IDENTITY, Kind, is_index, kind_of, name_of, names, pointer

Json: TypeAlias = Any
Operation: TypeAlias = dict[str, Json]
Path: TypeAlias = tuple[str | int, ...]


def diff(old: Json, new: Json) -> list[Operation]:
    """The operations that make `new` of `old`, to the byte. Many changes become one: the whole."""
    found = list(_between(old, new, ()))
    return found if len(found) <= MAX_OPERATIONS else [_write("replace", (), new)]


def same(first: Json, second: Json) -> bool:
    """They would be written alike: `1`, `1.0` and `true` differ, and so do orders of keys."""
    if type(first) is not type(second):
        return False
    if isinstance(first, dict):
        return list(first) == list(second) and all(same(value, second[key]) for key, value in first.items())
    if isinstance(first, list):
        return len(first) == len(second) and all(map(same, first, second))
    return bool(first == second)


def _between(old: Json, new: Json, path: Path) -> Iterator[Operation]:
    kind = kind_of(str(path[0])) if len(path) == 1 else None
    if same(old, new):
        return
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _between_objects(old, new, path)
    elif kind and isinstance(old, list) and isinstance(new, list) and _named(kind, old) and _named(kind, new):
        yield from _between_lists(kind, old, new, path)
    else:
        yield _write("replace", path, new)


def _between_objects(old: dict[str, Json], new: dict[str, Json], path: Path) -> Iterator[Operation]:
    """What is added comes last: so keys from the first that would stand wrong on are taken out and added again."""
    kept: list[str] = []
    rest = iter(old)
    for key in new:
        if key not in rest:
            break
        kept.append(key)
    stays = set(kept)
    yield from (_remove((*path, key)) for key in old if key not in stays)
    for key in kept:
        yield from _between(old[key], new[key], (*path, key))
    yield from (_write("add", (*path, key), value) for key, value in new.items() if key not in stays)


def _named(kind: Kind, items: list[Json]) -> bool:
    """Each has a name, and no two have the same."""
    found = set(names(kind, items))
    return None not in found and len(found) == len(items)


def _between_lists(kind: Kind, old: list[Json], new: list[Json], path: Path) -> Iterator[Operation]:
    """Out with what is gone or in the way, in with what is missing, then the changes inside what stayed."""
    before = {str(name): item for name, item in zip(names(kind, old), old, strict=True)}
    after = {str(name): item for name, item in zip(names(kind, new), new, strict=True)}
    repeated = _repeated(kind, old) | _repeated(kind, new)
    stays = _in_order(list(before), list(after))
    current = list(before)

    def address(name: str) -> Path:
        by_index = is_index(name) or name == END or name_of(kind, before[name]) in repeated
        return (*path, current.index(name) if by_index else name)

    for name in before:
        if name not in stays:
            yield _remove(address(name))
            current.remove(name)
    for index, name in enumerate(after):
        if name not in stays:
            yield _write("add", (*path, END if index == len(current) else index), after[name])
            current.insert(index, name)
    for name in stays:
        where = address(name)
        changes = list(_between(before[name], after[name], where))
        renames = any(change["path"].split("/")[len(where) + 1] in IDENTITY[kind] for change in changes)
        yield from [_write("replace", where, after[name])] if renames else changes


def _repeated(kind: Kind, items: list[Json]) -> set[str | None]:
    """Names that several items have: which one is meant changes when one of them goes."""
    return {name for name, count in Counter(name_of(kind, item) for item in items).items() if count > 1}


def _in_order(old: list[str], new: list[str]) -> dict[str, None]:
    """As many names as can stay where they are: the longest sequence that both have in the same order."""
    position = {name: index for index, name in enumerate(old)}
    common = [name for name in new if name in position]
    ends: list[int] = []
    """Of the sequences of each length, the last position of the one that ends first."""
    last: list[str] = []
    previous: dict[str, str | None] = {}
    for name in common:
        length = bisect_left(ends, position[name])
        previous[name] = last[length - 1] if length else None
        ends[length:] = [position[name], *ends[length + 1 :]]
        last[length:] = [name, *last[length + 1 :]]
    found: list[str] = []
    step = last[-1] if last else None
    while step is not None:
        found.append(step)
        step = previous[step]
    return dict.fromkeys(reversed(found))


def _write(op: str, path: Path, value: Json) -> Operation:
    return {"op": op, "path": pointer(path), "value": value}


def _remove(path: Path) -> Operation:
    return {"op": "remove", "path": pointer(path)}
