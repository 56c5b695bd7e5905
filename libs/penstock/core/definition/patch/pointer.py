"""Where an operation points: JSON Pointers (RFC 6901) in which nodes and transitions may be named by id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal, TypeAlias

from penstock.core.definition.language import Definition, Node, Transition

Json: TypeAlias = Any
Kind: TypeAlias = Literal["nodes", "transitions"]
"""The lists whose items have names."""
Trail: TypeAlias = list[tuple[Any, str | int]]
"""The containers on the way to a value, each with the key or index taken in it."""

END: Final = "-"
_INDEX_DIGITS: Final = 9


def _spelled(part: type[Node | Transition | Definition], name: str) -> tuple[str, ...]:
    return (name, *(other for other, field in part.spellings.items() if field == name))


NODE_ID: Final = _spelled(Node, "id")
FROM: Final = _spelled(Transition, "from")
TO: Final = _spelled(Transition, "to")
TRANSITIONS: Final = _spelled(Definition, "transitions")
IDENTITY: Final[dict[Kind, frozenset[str]]] = {
    "nodes": frozenset(NODE_ID),
    "transitions": frozenset({"id", *FROM, *TO}),
}
"""The fields that an item's name is made of."""


class Misfit(Exception):
    """The path does not fit the definition."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def segments(path: str) -> list[str]:
    if not path:
        return []
    if not path.startswith("/"):
        reason = "a path begins with `/`"
        raise Misfit(reason)
    return [segment.replace("~1", "/").replace("~0", "~") for segment in path[1:].split("/")]


def pointer(steps: Iterable[str | int]) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def is_index(segment: str) -> bool:
    return (
        segment.isascii()
        and segment.isdecimal()
        and len(segment) <= _INDEX_DIGITS
        and (segment == "0" or segment[0] != "0")
    )


def kind_of(segment: str) -> Kind | None:
    """What a key of the definition lists, if its items have names."""
    return "nodes" if segment == "nodes" else "transitions" if segment in TRANSITIONS else None


def name_of(kind: Kind, item: Json) -> str | None:
    """Of a node its id; of a transition its id, else `from->to`."""
    if not isinstance(item, dict):
        return None
    name = next((item[key] for key in NODE_ID if key in item), None) if kind == "nodes" else item.get("id")
    if name is None and kind == "transitions":
        source, to = (next((item[key] for key in keys if key in item), None) for keys in (FROM, TO))
        name = f"{source}->{to}" if isinstance(source, str) and isinstance(to, str) else None
    return name if isinstance(name, str) else None


def names(kind: Kind, items: list[Json]) -> Iterator[str | None]:
    """Names as they are looked up: the second of two that are called the same is `name#2`."""
    counts: dict[str, int] = {}
    for item in items:
        name = name_of(kind, item)
        if name is not None:
            counts[name] = counts.get(name, 0) + 1
            name = name if counts[name] == 1 else f"{name}#{counts[name]}"
        yield name


def trail(document: Json, path: list[str]) -> Trail:
    """The way to `path`; only its last step may lead to what is not there yet."""
    found: Trail = []
    value = document
    for depth, segment in enumerate(path):
        inner = depth + 1 < len(path)
        if depth == 0 and inner and segment in TRANSITIONS and isinstance(value, dict):
            key: str | int = next((name for name in (segment, *TRANSITIONS) if name in value), segment)
            found.append((value, key))
            value = value.get(key, [])  # a definition without transitions has none
            continue
        key = _key(value, segment, kind_of(path[0]) if depth == 1 else None)
        found.append((value, key))
        if inner:
            value = at(value, key)
    return found


def at(container: Json, key: str | int) -> Json:
    """What is there. Raises `Misfit`."""
    try:
        return container[key]
    except (LookupError, TypeError):
        reason = f"there is nothing at `{key}`"
        raise Misfit(reason) from None


def _key(container: Json, segment: str, kind: Kind | None) -> str | int:
    if isinstance(container, dict):
        return segment
    if not isinstance(container, list):
        reason = f"`{segment}` is inside a value that is neither an object nor a list"
        raise Misfit(reason)
    if segment == END:
        return len(container)
    if is_index(segment):
        return int(segment)
    if kind is None:
        reason = f"`{segment}` is no index of a list"
        raise Misfit(reason)
    position = next((index for index, name in enumerate(names(kind, container)) if name == segment), None)
    if position is None:
        reason = f"none of the {kind} is called `{segment}`"
        raise Misfit(reason)
    return position
