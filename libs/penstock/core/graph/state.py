"""The state of a graph run: what the fold of its events gives, and what a snapshot holds.

Tokens, scopes and groups are numbered; 0 is the root scope, and no group. Only `evolve` writes here.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from penstock.core.model.events import Fault, Outcome, Purpose
from penstock.core.model.graph import CompensateRule, JoinRule
from penstock.core.model.time import Instant

Json: TypeAlias = Any

Status: TypeAlias = Literal["pending", "running", "waiting", "paused", "compensating", "closed"]
TokenStatus: TypeAlias = Literal[
    "ready", "running", "retrying", "joining", "waiting", "deciding", "child", "parked", "done"
]

ROOT = 0


class Token(msgspec.Struct, array_like=True, omit_defaults=True):
    """One visit of one node."""

    id: int
    node: str
    scope: int
    hop: int
    payload: Json
    via: str = ""
    parent: int = 0
    status: TokenStatus = "ready"
    attempt: int = 0
    since: Instant = Instant(0)
    input: Json = None
    """What was dispatched, if that was not the payload."""
    mapped: bool = False
    output: Json = None
    fault: Fault | None = None
    """`_last_error`, until a node succeeds."""
    origin: str = ""
    """The node it came from."""
    instance: str = ""
    """Of the named join it waits at, or came through."""
    back: bool = False
    abandoned: bool = False
    """Its group has moved on: it may finish the node it is on, and no more."""
    handle: str = ""
    """The approval, child or signal it waits for."""
    timers: list[str] = []


class Scope(msgspec.Struct, array_like=True, omit_defaults=True):
    """The root, or one branch of a group."""

    id: int
    group: int = 0
    branch: int = 0
    data: dict[str, Json] = {}
    """The root's `state`; a branch's `_branch.output`, if a mapping wrote it."""
    nodes: dict[str, dict[str, Json]] = {}
    """`nodes.<id>` as expressions see them: the latest output, with metadata."""
    loops: dict[str, int] = {}
    errors: dict[str, Json] = {}
    """`_errors.<group>` of groups that settled."""
    arrivals: dict[str, Json] = {}
    """Payloads that reached the join, by the node they came from."""
    arrival_hop: int = 0
    ends: dict[str, Json] = {}
    """What its ways that ended elsewhere put out, by node."""
    tokens: set[int] = set()
    """Open in it, as are its groups."""
    groups: set[int] = set()
    joining: int = 0
    """How many of its tokens wait at named joins."""

    @property
    def open(self) -> int:
        """How many tokens and groups are open in it."""
        return len(self.tokens) + len(self.groups)


class Group(msgspec.Struct, array_like=True, omit_defaults=True):
    """A fan-out: branches with scopes of their own, until they are joined or have ended."""

    id: int
    name: str
    scope: int
    """The one that opened it."""
    origin: str
    """The node that opened it."""
    token: int
    hop: int
    total: int
    first_scope: int
    first_token: int
    items: list[Json] | None = None
    item: str | None = None
    join: JoinRule | None = None
    max_parallel: int | None = None
    started: int = 0
    open: int = 0
    outputs: dict[int, Json] = {}
    faults: dict[int, Fault] = {}
    settled: bool = False
    """Its join has fired or failed: what still runs is late."""


class Timer(msgspec.Struct, array_like=True, omit_defaults=True):
    due: Instant
    purpose: Purpose
    token: int = 0
    group: int = 0


class Signal(msgspec.Struct, array_like=True):
    id: str
    name: str
    payload: Json


class Done(msgspec.Struct, array_like=True):
    """A completed node that can be undone, with all that undoing it needs."""

    token: int
    node: str
    input: Json
    output: Json
    rule: CompensateRule
    status: Literal["due", "running", "done", "failed", "skipped"] = "due"
    attempt: int = 0


class State(msgspec.Struct, array_like=True, omit_defaults=True):
    status: Status = "pending"
    outcome: Outcome | None = None
    fault: Fault | None = None
    workflow: str = ""
    graph: str = ""
    seed: str = ""
    input: Json = None
    output: Json = None
    parent: str | None = None
    depth: int = 0
    paused: bool = False
    tokens: dict[int, Token] = {}
    scopes: dict[int, Scope] = {}
    groups: dict[int, Group] = {}
    joins: dict[str, dict[str, list[int]]] = {}
    """Tokens that wait at named joins, by instance and by the node they came from."""
    timers: dict[str, Timer] = {}
    approvals: dict[str, int] = {}
    children: dict[str, int] = {}
    decided: dict[str, str] = {}
    """Approvals that were decided, withdrawn or ran out, and how."""
    signals: list[Signal] = []
    seen: dict[str, Instant] = {}
    """Ids of signals, kept for a while: a signal does not fence itself."""
    branches: dict[str, list[Json]] = {}
    """`_branches.<group>`: what unjoined groups put out."""
    ends: list[tuple[str, Json]] = []
    """Terminal completions of the root, in order: the run's output, unless it maps one."""
    undo: list[Done] = []
    held: dict[str, list[int]] = {}
    """Tokens that wait for their turn, by node."""
    running: dict[str, int] = {}
    """Tokens under way per node, where that is limited."""
    emitted: int = 0
    consumed: int = 0
    hops: int = 0
    next_token: int = 1
    next_scope: int = 1
    next_group: int = 1

    @property
    def counter(self) -> int:
        """Tokens emitted less tokens consumed (seed 002)."""
        return self.emitted - self.consumed
