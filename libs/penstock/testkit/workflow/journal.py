"""What happened in a tested run, for assertions and for people."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from penstock.core.model import events as e
from penstock.core.model.time import SECOND, Instant

Json: TypeAlias = Any

_BEGINS = (e.NodeDispatched, e.ApprovalRequested, e.ChildStarted, e.SignalAwaited, e.NodeCompleted, e.NodeFailed)
_HIDDEN = frozenset({"type", "token", "first_scope", "first_token", "hop", "parent", "scope", "via", "lane"})
_HIDDEN |= {"graph", "engine", "seed", "at"}
_WIDE = 100


class Recorded(Struct, frozen=True):
    """An event, when it happened, and the node it is about, if it is about one."""

    at: Instant
    event: e.Event
    node: str = ""

    @property
    def kind(self) -> str:
        """As in the log: `node.completed`."""
        return str(self.event.__struct_config__.tag)

    @property
    def time(self) -> str:
        return _time(self.at)

    @property
    def gist(self) -> str:
        """What else it says, on one line."""
        fields = msgspec.to_builtins(self.event)
        told = {name: value for name, value in fields.items() if name not in _HIDDEN and value != self.node}
        text = "  ".join(f"{name}={_time(value) if name == 'due' else _short(value)}" for name, value in told.items())
        return text if len(text) <= _WIDE else f"{text[: _WIDE - 1]}…"


class Journal:
    def __init__(self) -> None:
        self.events: list[Recorded] = []
        self.path: list[str] = []
        self._nodes: dict[int, str] = {}
        self._visited: dict[int, str] = {}
        self._approvals: dict[str, int] = {}
        self._children: dict[str, int] = {}

    def record(self, event: e.Event, at: Instant) -> None:
        self._learn(event)
        node = self._node_of(event)
        if isinstance(event, _BEGINS):
            self._visited[event.token] = node
        if isinstance(event, e.NodeCompleted) and event.applied:
            self.path.append(node)
        self.events.append(Recorded(at, event, node))

    def visits(self, node: str) -> int:
        return list(self._visited.values()).count(node)

    def tokens_of(self, node: str) -> set[int]:
        return {token for token, visited in self._visited.items() if visited == node}

    def attempts(self, node: str) -> int:
        begins = (e.NodeDispatched, e.ChildStarted)
        return sum(isinstance(found.event, begins) and found.node == node for found in self.events)

    def outputs(self, node: str) -> list[Json]:
        return [
            found.event.output
            for found in self.events
            if isinstance(found.event, e.NodeCompleted) and found.event.applied and found.node == node
        ]

    def undone(self) -> list[str]:
        return [found.node for found in self.events if isinstance(found.event, e.CompensationEnded)]

    def table(self) -> str:
        rows = [(found.time, found.kind, found.node, found.gist) for found in self.events]
        widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
        lines = (
            "  ".join((*(f"{cell:<{width}}" for cell, width in zip(row[:3], widths, strict=True)), row[3]))
            for row in rows
        )
        return "\n".join(line.rstrip() for line in lines)

    def _learn(self, event: e.Event) -> None:
        """Which node each token is on: a fan-out tells it by range."""
        match event:
            case e.TokenCreated() | e.JoinMet() | e.JoinCompleted() | e.JoinFailed():
                self._nodes[event.token] = event.node
            case e.GroupOpened(first_token=number, branches=branches):
                for branch in branches:
                    self._nodes.update(dict.fromkeys(range(number, number + branch.count), branch.to))
                    number += branch.count
            case e.ApprovalRequested():
                self._approvals[event.approval] = event.token
            case e.ChildStarted():
                self._children[event.child] = event.token

    def _node_of(self, event: e.Event) -> str:
        number = getattr(event, "token", 0)
        number = number or self._approvals.get(getattr(event, "approval", ""), 0)
        number = number or self._children.get(getattr(event, "child", ""), 0)
        return self._nodes.get(number, "")


def _time(at: int) -> str:
    return datetime.fromtimestamp(at / SECOND, UTC).isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00")


def _short(value: Json) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
