"""References to large values, `{"$blob": "sha256:…", "size": n}`, where an expression reads into one.

Whoever drives the decision is asked to load them; what is only passed on stays a reference.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from penstock.core.graph.fault import NodeFault
from penstock.core.model.decider import Missing, Need
from penstock.core.model.evaluate import Failure, Path

Json: TypeAlias = Any

MARK = "$blob"


def is_reference(value: Json) -> bool:
    return isinstance(value, dict) and isinstance(value.get(MARK), str)


def holds_reference(value: Json) -> bool:
    """Anywhere inside it."""
    if isinstance(value, dict):
        if MARK in value and is_reference(value):
            return True
        items: Iterable[Json] = value.values()
    elif isinstance(value, list):
        items = value
    else:
        return False
    return any(isinstance(item, dict | list) and holds_reference(item) for item in items)


def opened(value: Json, blobs: Mapping[str, Json]) -> Json:
    """What a reference stands for; anything else as it is. Raises `Missing` if that is not there."""
    return load({"value": value}, [("value", "")], blobs, whole=False)["value"]


def load(found: dict[str, Json], reads: Iterable[Path], blobs: Mapping[str, Json], *, whole: bool) -> dict[str, Json]:
    """`found` with the references that `reads` lead into replaced. Raises `Missing` with all that are not there.

    `whole`: what stands at the end of a path is looked into as well.
    """
    loader = _Loader(blobs)
    loaded: dict[str, Json] = found
    for path in reads:
        loaded = loader.along(loaded, path, whole=whole)
    if loader.missing:
        raise Missing(Need(blobs=frozenset(loader.missing)))
    return loaded


class _Loader:
    def __init__(self, blobs: Mapping[str, Json]) -> None:
        self._blobs = blobs
        self.missing: set[str] = set()

    def along(self, value: Json, path: Path, *, whole: bool) -> Json:
        """Only what lies on the path is copied."""
        if not path:
            return self._all(value) if whole else value
        value = self._opened(value)
        if not isinstance(value, dict) or path[0] not in value:
            return value
        inner = self.along(value[path[0]], path[1:], whole=whole)
        return value if inner is value[path[0]] else {**value, path[0]: inner}

    def _all(self, value: Json) -> Json:
        value = self._opened(value)
        if isinstance(value, dict):
            return {key: self._all(item) for key, item in value.items()}
        return [self._all(item) for item in value] if isinstance(value, list) else value

    def _opened(self, value: Json) -> Json:
        if not is_reference(value):
            return value
        key = value[MARK]
        if key not in self._blobs:
            self.missing.add(key)
            return value
        content = self._blobs[key]
        if isinstance(content, Failure):
            raise NodeFault("BLOB_UNREADABLE", content.message, cause=content.code, blob=key)
        return content
