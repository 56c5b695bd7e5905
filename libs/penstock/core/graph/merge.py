"""How the branches of a group become one value, always by branch index."""

from __future__ import annotations

from typing import Any, TypeAlias

from penstock.core.graph.decision import NodeFault
from penstock.core.model.graph import MergeRule

Json: TypeAlias = Any

_EMPTY: dict[str, Json] = {
    "append": [],
    "concat": [],
    "merge_object": {},
    "keyed_by_branch": {},
    "last_wins": None,
}


def merge(rule: MergeRule, values: list[tuple[str, Json]]) -> Json:
    """`values` are (key, output) of the branches that arrived, by index."""
    if not values:
        return _EMPTY[rule.strategy]
    outputs = [output for _, output in values]
    match rule.strategy:
        case "append":
            return outputs
        case "concat":
            return [element for output in outputs for element in (output if isinstance(output, list) else [output])]
        case "merge_object":
            return _merge_objects(outputs)
        case "keyed_by_branch":
            return dict(values)
        case "last_wins":
            return outputs[-1]


def _merge_objects(outputs: list[Json]) -> dict[str, Json]:
    merged: dict[str, Json] = {}
    for index, output in enumerate(outputs):
        if not isinstance(output, dict):
            raise NodeFault("MERGE_TYPE", "only objects can be merged", position=index)
        merged |= output
    return merged
