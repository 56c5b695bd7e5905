"""How the branches of a group become one value, always by branch index."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from penstock.core.graph.fault import NodeFault
from penstock.core.model.graph import MergeRule

Json: TypeAlias = Any

_EMPTY: dict[str, Json] = {
    "append": [],
    "concat": [],
    "merge_object": {},
    "keyed_by_branch": {},
    "last_wins": None,
}


class Contribution(NamedTuple):
    """Of one branch that arrived."""

    number: int
    key: str
    value: Json


def merge(rule: MergeRule, branches: list[Contribution]) -> Json:
    if not branches:
        return _EMPTY[rule.strategy]
    outputs = [branch.value for branch in branches]
    match rule.strategy:
        case "append":
            return outputs
        case "concat":
            return [element for output in outputs for element in (output if isinstance(output, list) else [output])]
        case "merge_object":
            return _merge_objects(branches)
        case "keyed_by_branch":
            return {branch.key: branch.value for branch in branches}
        case "last_wins":
            return outputs[-1]


def _merge_objects(branches: list[Contribution]) -> dict[str, Json]:
    merged: dict[str, Json] = {}
    for branch in branches:
        if not isinstance(branch.value, dict):
            raise NodeFault("MERGE_TYPE", "only objects can be merged", branch=branch.number)
        merged |= branch.value
    return merged
