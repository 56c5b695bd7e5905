"""The merge strategies of a group join: values in branch order in, one value out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

EMPTY: Final[dict[str, Any]] = {
    "append": [],
    "concat": [],
    "merge_object": {},
    "keyed_by_branch": {},
    "last_wins": None,
}


class MergeType(Exception):
    """A value that the strategy cannot merge."""


def merged(strategy: str, values: Sequence[Any], keys: Sequence[Any]) -> Any:  # noqa: ANN401 - JSON in and out
    if not values:
        return EMPTY[strategy]
    if strategy == "append":
        return list(values)
    if strategy == "concat":
        return [item for value in values for item in (value if isinstance(value, list) else [value])]
    if strategy == "keyed_by_branch":
        return {str(key): value for key, value in zip(keys, values, strict=True)}
    if strategy == "last_wins":
        return values[-1]
    if not all(isinstance(value, dict) for value in values):
        raise MergeType
    return {key: item for value in values for key, item in value.items()}
