"""The state of a graph run: what the fold of its events gives, and what a snapshot holds.

Tokens, scopes and groups are numbered; 0 is the root scope, and no group. Only `evolve` writes here.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from penstock.core.model.evaluate import Failure, Program
from penstock.core.model.events import Artifact, Fault, Outcome, Purpose
from penstock.core.model.graph import CompensateRule, JoinRule, NodeRule
from penstock.core.model.time import Instant

Json: TypeAlias = Any

Status: TypeAlias = Literal["pending", "running", "waiting", "paused", "compensating", "closed"]
TokenStatus: TypeAlias = Literal[
    "ready", "running", "retrying", "joining", "waiting", "deciding", "child", "parked", "routing", "done"
]

ROOT = 0

_BEGUN = frozenset({"running", "retrying", "deciding", "child"})
_ACTIVE = frozenset({"ready", "running", "routing"})
"""Something is dispatched, or will be."""


class Question(msgspec.Struct, array_like=True, omit_defaults=True):
    """Conditions under evaluation, for the transitions from one tier on."""

    number: int
    tier: int
    programs: tuple[Program, ...]
    seen: Json
    failed: bool = False
    next_nodes: tuple[str, ...] | None = None
    verdicts: dict[str, bool | Failure] | None = None


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
    lane: tuple[int, ...] = ()
    """Where it went where ways forked: an order of tokens that no schedule changes."""
    handle: str = ""
    """The approval, child or signal it waits for."""
    timers: list[str] = []
    question: Question | None = None
    """What its transitions ask of user code."""
    asked: str = ""
    """The approval it asked for: that consumed it, and what follows is emitted by the decision (seed 002)."""

    @property
    def given(self) -> Json:
        """What its node was given."""
        return self.input if self.mapped else self.payload

    @property
    def occupies(self) -> bool:
        """It counts against its node's `parallelism`: begun, and between attempts too."""
        return self.status in _BEGUN or (self.status == "ready" and self.attempt > 0)


class Arrival(msgspec.Struct, array_like=True):
    """What a node put out at the end of a way, and which of several ways side by side it was."""

    node: str
    payload: Json
    lane: tuple[int, ...]


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
    weight: int = 0
    """Bytes ever written to `data`: it holds at most so many."""
    arrivals: list[Arrival] = []
    """What reached the join."""
    arrival_hop: int = 0
    ends: list[Arrival] = []
    """What its ways that ended put out: terminal completions, those of its groups by branch."""
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
    parts: list[tuple[int, str]] = []
    """How many branches each transition opened, and what it calls their items."""
    lane: tuple[int, ...] = ()
    join: JoinRule | None = None
    max_parallel: int | None = None
    open: int = 0
    outputs: dict[int, Json] = {}
    faults: dict[int, Fault] = {}
    ends: dict[int, list[Arrival]] = {}
    """Terminal completions, by branch."""
    settled: bool = False
    """Its join has fired or failed: what still runs is late."""
    waiting: int = 0
    """Arrivals at its join, until that consumes them."""


class Timer(msgspec.Struct, array_like=True, omit_defaults=True):
    due: Instant
    purpose: Purpose
    token: int = 0
    group: int = 0
    undo: int = 0


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
    status: Literal["due", "running", "retrying", "done", "failed", "skipped"] = "due"
    attempt: int = 0
    child: str = ""
    """A child run that undoes itself."""


class Flight(msgspec.Struct, array_like=True, omit_defaults=True):
    """A task that nobody waits for any more, and that may have done what would have to be undone."""

    node: str
    attempt: int
    input: Json
    rule: CompensateRule
    child: str = ""
    skipped: bool = False
    """It was left as it is; a success that is reported later is undone all the same."""


class Begun(msgspec.Struct, array_like=True):
    """Work under way by a rule that its node no longer has."""

    rule: NodeRule
    tokens: set[int]


class Proposal(msgspec.Struct, array_like=True):
    """A patch that waits for approval."""

    operations: tuple[Json, ...]
    by: str
    note: str


class State(msgspec.Struct, array_like=True, omit_defaults=True):
    phase: Literal["pending", "open", "compensating", "closed"] = "pending"
    outcome: Outcome | None = None
    fault: Fault | None = None
    workflow: str = ""
    graph: str = ""
    seed: str = ""
    run: str = ""
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
    undo: dict[int, Done] = {}
    """By token, in the order of completion."""
    undo_now: int = 0
    """The token whose work is being undone."""
    flights: dict[int, Flight] = {}
    undoing: Literal["failure", "cancel", "manual"] | None = None
    """Why a closed run is being undone."""
    undone: bool = False
    """It was undone because somebody asked, with what could not be."""
    undo_fault: Fault | None = None
    proposals: dict[str, Proposal] = {}
    yielded: bool = False
    """It goes on with a command to itself."""
    artifacts: dict[str, Artifact] = {}
    """Staged, by name."""
    inherited: dict[str, Artifact] = {}
    held: dict[str, dict[int, None]] = {}
    """Tokens that wait for their turn, by node, in order."""
    running: dict[str, int] = {}
    """Tokens under way per node, where that is limited."""
    emitted: int = 0
    consumed: int = 0
    hops: int = 0
    bytes: int = 0
    """Of outputs, where that is limited."""
    blobs: bool = False
    """Some value in it is only a reference."""
    next_token: int = 1
    next_scope: int = 1
    next_group: int = 1
    revision: int = 0
    base: int = 0
    """The revision at which it came to `graph`: at its start, or by its last migration."""
    definition: str = ""
    """Content hash of the revision that it runs by, if patches made that of `graph`."""
    patches: list[list[Json]] = []
    """Operations that lead from `graph` to the revisions after `base`, one after the other."""
    begun: list[Begun] = []

    @property
    def status(self) -> Status:
        if self.phase != "open":
            return self.phase
        if self.paused:
            return "paused"
        return "running" if any(token.status in _ACTIVE for token in self.tokens.values()) else "waiting"

    @property
    def counter(self) -> int:
        """Tokens emitted less tokens consumed (seed 002)."""
        return self.emitted - self.consumed
