"""What changed between two definitions, told by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import msgspec

from penstock.core.definition.patch.difference import same
from penstock.core.definition.patch.pointer import TRANSITIONS, Kind, names

Json: TypeAlias = Any


class Changed(msgspec.Struct, frozen=True):
    name: str
    fields: tuple[str, ...]


class Changes(msgspec.Struct, frozen=True, omit_defaults=True):
    """Of the nodes, or of the transitions."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[Changed, ...] = ()
    reordered: bool = False
    """Those in both stand in another order."""


class Summary(msgspec.Struct, frozen=True, omit_defaults=True):
    nodes: Changes = Changes()
    transitions: Changes = Changes()
    settings: tuple[str, ...] = ()
    """Other fields of the definition that differ."""

    @property
    def lines(self) -> tuple[str, ...]:
        """To read: `+` is new, `-` is gone, `~` is changed."""
        settings = [f"~ {name}" for name in self.settings]
        return (*_lines("node", self.nodes), *_lines("transition", self.transitions), *settings)


def summarize(old: dict[str, Json], new: dict[str, Json]) -> Summary:
    structure = {"nodes", *TRANSITIONS}
    settings = dict.fromkeys(key for key in (*old, *new) if key not in structure)
    return Summary(
        _changes(_named("nodes", old), _named("nodes", new)),
        _changes(_named("transitions", old), _named("transitions", new)),
        tuple(key for key in settings if not _same_at(old, new, key)),
    )


def _named(kind: Kind, definition: dict[str, Json]) -> dict[str, Json]:
    keys = ("nodes",) if kind == "nodes" else TRANSITIONS
    items: Json = next((definition[key] for key in keys if key in definition), [])
    if isinstance(items, dict):
        return items
    return {name or f"#{index}": item for index, (name, item) in enumerate(zip(names(kind, items), items, strict=True))}


def _changes(old: dict[str, Json], new: dict[str, Json]) -> Changes:
    both = [name for name in old if name in new]
    return Changes(
        tuple(name for name in new if name not in old),
        tuple(name for name in old if name not in new),
        tuple(Changed(name, _fields(old[name], new[name])) for name in both if not same(old[name], new[name])),
        both != [name for name in new if name in old],
    )


def _fields(old: Json, new: Json) -> tuple[str, ...]:
    if not isinstance(old, dict) or not isinstance(new, dict):
        return ()
    return tuple(key for key in dict.fromkeys((*old, *new)) if not _same_at(old, new, key))


def _same_at(old: dict[str, Json], new: dict[str, Json], key: str) -> bool:
    return key in old and key in new and same(old[key], new[key])


def _lines(word: str, changes: Changes) -> Iterator[str]:
    yield from (f"+ {word} {name}" for name in changes.added)
    yield from (f"- {word} {name}" for name in changes.removed)
    for change in changes.changed:
        yield f"~ {word} {change.name}" + (f": {', '.join(change.fields)}" if change.fields else "")
    if changes.reordered:
        yield f"~ order of {word}s"
