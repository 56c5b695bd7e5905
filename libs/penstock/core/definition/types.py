"""Node types: what a visit does, and where its work goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from penstock.core.model.graph import Behaviour, Json, RetryRule


class NodeType(msgspec.Struct, frozen=True, omit_defaults=True):
    """A registered type. A node may override all but the schemas."""

    behaviour: Behaviour = "task"
    queue: str | None = None
    config: dict[str, Json] = {}
    config_schema: Json = None
    input_schema: Json = None
    output_schema: Json = None
    retry: RetryRule = RetryRule()
    timeout: int | None = None


BUILT_IN: Final[Mapping[str, NodeType]] = {
    "task": NodeType(),
    "http": NodeType(queue="http"),
    "function": NodeType(queue="function"),
    "script": NodeType(queue="script"),
    "agent": NodeType(queue="agent"),
    "pass": NodeType("pass"),
    "transform": NodeType("transform"),
    "human": NodeType("human"),
    "workflow": NodeType("workflow"),
    "workflow_call": NodeType("workflow"),
    "wait": NodeType("wait"),
    "migration": NodeType("migration", queue="script"),
}
