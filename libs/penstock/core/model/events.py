"""What happened in a run: past tense, dotted, stable.

State is the fold of these and nothing else, so each carries all that its effect on the state needs. What can be
told from the state is left out: a payload is stored once, in the event that made it, and a fan-out is one
`group.opened` whose branches and tokens are implied by range.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from penstock.core.model.evaluate import Change, Failure, Program
from penstock.core.model.graph import CompensateRule, JoinRule, NodeRule
from penstock.core.model.time import Instant

Json: TypeAlias = Any

Outcome: TypeAlias = Literal["completed", "failed", "cancelled", "timed_out"]
Purpose: TypeAlias = Literal[
    "retry",
    "task",
    "node_deadline",
    "wait",
    "signal",
    "approval",
    "join",
    "run_deadline",
    "cancel_grace",
    "routing",
    "undo",
    "undo_retry",
]


class Fault(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a node, a branch or a run failed."""

    code: str
    message: str
    node: str = ""
    attempt: int = 0
    retryable: bool = False
    details: dict[str, Json] = {}


class Artifact(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something a node made that outlives the run: where its bytes are, and what they are."""

    name: str
    ref: str
    type: str = ""
    metadata: Json = None


class Notice(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something to look at that refuses nothing."""

    code: str
    path: str
    message: str


class Begun(msgspec.Struct, frozen=True, array_like=True):
    """Work that was under way when its node changed, and the rule that it was begun by."""

    rule: NodeRule
    tokens: tuple[int, ...]


class Event(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type"):
    pass


class RunStarted(Event, frozen=True, tag="run.started"):
    workflow: str
    graph: str
    """Content hash of the definition the run is pinned to."""
    input: Json
    engine: str
    """What evaluates its conditions."""
    seed: str
    """Nonces of its tasks follow from this."""
    state: dict[str, Json] = {}
    run: str = ""
    submitted_by: str = ""
    labels: dict[str, str] = {}
    correlation: str = ""
    parent: str | None = None
    depth: int = 0
    artifacts: tuple[Artifact, ...] = ()
    """What the parent had staged, for a child that may read it."""


class TokenCreated(Event, frozen=True, tag="token.created"):
    token: int
    node: str
    scope: int
    hop: int
    via: str
    parent: int = 0
    payload: Json | UnsetType = UNSET
    """Unset: what the parent's node put out."""
    back: bool = False
    """It came by a loop's way back."""
    lane: int = -1
    """Which of several that go on side by side, as declared; -1: it is alone."""


class TokenWaiting(Event, frozen=True, tag="token.waiting"):
    """Arrived at a named join."""

    token: int
    instance: str


class TokenHeld(Event, frozen=True, tag="token.held"):
    """As many tokens as may be are on its node already; it waits for its turn."""

    token: int


class TokenConsumed(Event, frozen=True, tag="token.consumed"):
    token: int
    ends: bool = False
    """Nothing follows: its way ends here."""


class TokenCancelled(Event, frozen=True, tag="token.cancelled"):
    token: int
    reason: str


class TokenAbandoned(Event, frozen=True, tag="token.abandoned"):
    """Its group has moved on: it may finish the node it is on, and goes no further."""

    token: int


class TaskCancelled(Event, frozen=True, tag="task.cancelled"):
    """Whoever has it is told to stop. What it did until then is not known, unless it still reports."""

    token: int
    attempt: int
    queue: str
    compensate: CompensateRule | None = None


class TaskStarted(Event, frozen=True, tag="task.started"):
    """A worker has begun: its time runs from now."""

    token: int
    attempt: int


class NodeDispatched(Event, frozen=True, tag="node.dispatched"):
    token: int
    attempt: int
    input: Json | UnsetType = UNSET
    """Unset: the token's payload."""


class NodeCompleted(Event, frozen=True, tag="node.completed"):
    token: int
    output: Json
    changes: tuple[Change, ...] = ()
    metadata: dict[str, Json] = {}
    compensate: CompensateRule | None = None
    input: Json | UnsetType = UNSET
    applied: bool = True
    """False: it came too late, or did not fit. It was done all the same, and may have to be undone."""
    bytes: int = 0
    """Of the output, where the run counts them."""
    memo: str = ""
    """The key under which other runs may find this output."""


class NodeRecalled(Event, frozen=True, tag="node.recalled"):
    """The same work was done before, by this run or another: its output is taken instead."""

    token: int
    memo: str
    input: Json | UnsetType = UNSET


class RoutingAsked(Event, frozen=True, tag="routing.asked"):
    """Conditions that run user code are evaluated as a task, on what they see now."""

    token: int
    number: int
    """How often this token has asked."""
    tier: int
    programs: tuple[Program, ...]
    seen: Json
    failed: bool = False
    """Out of the transitions that catch errors."""
    next_nodes: tuple[str, ...] | None = None
    """Where the result wants to go, once the loop is left."""


class RoutingAnswered(Event, frozen=True, tag="routing.answered"):
    token: int
    verdicts: dict[str, bool | Failure]


class ArtifactsStaged(Event, frozen=True, tag="artifacts.staged"):
    token: int
    artifacts: tuple[Artifact, ...]


class ArtifactsCommitted(Event, frozen=True, tag="artifacts.committed"):
    """The run completed: what it staged is there for others."""


class TaskFailed(Event, frozen=True, tag="task.failed"):
    token: int
    fault: Fault


class TaskRetryScheduled(Event, frozen=True, tag="task.retry_scheduled"):
    token: int
    attempt: int
    due: Instant


class TokenParked(Event, frozen=True, tag="token.parked"):
    """Its attempts are used up; it waits for somebody to try once more or to give it up."""

    token: int
    fault: Fault


class TokenUnparked(Event, frozen=True, tag="token.unparked"):
    """Somebody wants one more attempt."""

    token: int


class NodeFailed(Event, frozen=True, tag="node.failed"):
    """For good: after the last attempt, or for a reason that no attempt can mend."""

    token: int
    fault: Fault


class TaskExhausted(Event, frozen=True, tag="task.exhausted"):
    """No attempt is left; a dead letter is kept."""

    token: int
    node: str
    queue: str
    attempt: int
    fault: Fault
    parked: bool = False


class ResultRecorded(Event, frozen=True, tag="result.recorded"):
    """A success of a task that nobody waited for any more: it was done, and may have to be undone."""

    token: int
    attempt: int
    output: Json = None
    fault: Fault | None = None
    """Set: it did not succeed after all."""
    compensate: CompensateRule | None = None
    """Of a success that the run could not accept, and that another attempt may follow."""


class ResultIgnored(Event, frozen=True, tag="result.ignored"):
    """It came too late to matter; kept for the record."""

    token: int
    attempt: int
    reason: str


class Branches(msgspec.Struct, frozen=True, array_like=True):
    """A run of branches with the same way in."""

    via: str
    to: str
    count: int
    listed: bool = False
    """Each begins with its item; else with what the opener put out."""
    item: str = ""
    """A name for the item."""


class GroupOpened(Event, frozen=True, tag="group.opened"):
    """Branch i is scope `first_scope + i`, entered by token `first_token + i`."""

    group: int
    name: str
    token: int
    first_scope: int
    first_token: int
    hop: int
    branches: tuple[Branches, ...]
    items: list[Json] | None = None
    max_parallel: int | None = None
    join: JoinRule | None = None


class BranchArrived(Event, frozen=True, tag="branch.arrived"):
    """A token reached its group's join and is consumed there; its branch may have more on the way."""

    token: int


class BranchClosed(Event, frozen=True, tag="branch.closed"):
    scope: int
    status: Literal["arrived", "ended", "failed", "cancelled"]
    output: Json = None
    fault: Fault | None = None


class JoinCompleted(Event, frozen=True, tag="join.completed"):
    """The group's branches became one token on the join's target."""

    group: int
    token: int
    node: str
    merged: Json
    changes: tuple[Change, ...] = ()
    origin: str = ""
    """The node it counts as coming from, if the target waits for others too."""


class JoinFailed(Event, frozen=True, tag="join.failed"):
    """The target's node fails without running, in the scope that opened the group."""

    group: int
    token: int
    node: str
    fault: Fault


class GroupClosed(Event, frozen=True, tag="group.closed"):
    """Nothing of it is open any more."""

    group: int


class JoinMet(Event, frozen=True, tag="join.met"):
    """A named join has heard from everyone it waits for."""

    token: int
    node: str
    instance: str
    arrivals: tuple[int, ...]
    """The tokens it consumes, in the declared order of their nodes."""


class LoopAdvanced(Event, frozen=True, tag="loop.advanced"):
    scope: int
    node: str
    count: int


class LoopLeft(Event, frozen=True, tag="loop.left"):
    scope: int
    node: str


class TimerSet(Event, frozen=True, tag="timer.set"):
    timer: str
    due: Instant
    purpose: Purpose
    token: int = 0
    group: int = 0
    undo: int = 0
    """The token whose work is being undone."""


class TimerCleared(Event, frozen=True, tag="timer.cleared"):
    timer: str


class TimerFired(Event, frozen=True, tag="timer.fired"):
    timer: str


class SignalReceived(Event, frozen=True, tag="signal.received"):
    signal: str
    name: str
    payload: Json = None


class SignalConsumed(Event, frozen=True, tag="signal.consumed"):
    signal: str
    token: int


class SignalAwaited(Event, frozen=True, tag="signal.awaited"):
    token: int
    name: str


class ApprovalRequested(Event, frozen=True, tag="approval.requested"):
    approval: str
    token: int
    due: Instant | None = None
    input: Json | UnsetType = UNSET


class ApprovalDecided(Event, frozen=True, tag="approval.decided"):
    approval: str
    decision: Literal["approved", "rejected"]
    decided_by: str
    at: Instant
    comments: str = ""
    data: Json = None


class ApprovalEscalated(Event, frozen=True, tag="approval.escalated"):
    """Nobody decided in time: others are asked."""

    approval: str
    due: Instant | None = None


class ApprovalWithdrawn(Event, frozen=True, tag="approval.withdrawn"):
    approval: str


class ChildStarted(Event, frozen=True, tag="child.started"):
    child: str
    token: int
    input: Json | UnsetType = UNSET


class ChildEnded(Event, frozen=True, tag="child.ended"):
    child: str
    outcome: Outcome


class ChildCancelled(Event, frozen=True, tag="child.cancelled"):
    """It is told to stop. It may have completed by then."""

    child: str
    token: int
    compensate: CompensateRule


class RunPaused(Event, frozen=True, tag="run.paused"):
    pass


class RunResumed(Event, frozen=True, tag="run.resumed"):
    pass


class RunEnding(Event, frozen=True, tag="run.ending"):
    """The outcome is known; what is still under way may report, but nothing new begins."""

    outcome: Outcome
    fault: Fault | None = None


class RunCompleted(Event, frozen=True, tag="run.completed"):
    output: Json


class RunClosed(Event, frozen=True, tag="run.closed"):
    undone: bool = False
    """It was undone because somebody asked."""
    fault: Fault | None = None
    """What could not be undone."""


class PatchProposed(Event, frozen=True, tag="patch.proposed"):
    patch: str
    operations: tuple[Json, ...]
    by: str = ""
    note: str = ""


class PatchDecided(Event, frozen=True, tag="patch.decided"):
    patch: str
    decision: Literal["approved", "rejected"]
    decided_by: str
    comments: str = ""


class RunPatched(Event, frozen=True, tag="run.patched"):
    """The run has a new revision of its definition: every decision from here on uses it."""

    revision: int
    definition: str
    """Content hash of what the operations lead to."""
    operations: tuple[Json, ...]
    patch: str
    """Id of the command."""
    by: str = ""
    note: str = ""
    reverts: int | None = None
    """The revision that it goes back to."""
    warnings: tuple[Notice, ...] = ()
    begun: tuple[Begun, ...] = ()
    renewed: tuple[int, ...] = ()
    """Tokens that begin their node anew, as it is now."""


class RunMigrated(Event, frozen=True, tag="run.migrated"):
    """The run goes on by another version of its workflow."""

    token: int
    revision: int
    definition: str
    """Content hash of that version."""
    version: str
    state: dict[str, Json] | UnsetType = UNSET
    """Unset: as it was."""
    begun: tuple[Begun, ...] = ()
    renewed: tuple[int, ...] = ()


class RunYielded(Event, frozen=True, tag="run.yielded"):
    """A decision grew too long; it goes on with a command to itself."""


class RunContinued(Event, frozen=True, tag="run.continued"):
    pass


class CompensationRequested(Event, frozen=True, tag="compensation.requested"):
    """Somebody asked for it, or the parent undoes its children."""

    reason: Literal["failure", "cancel", "manual"]
    by: str = ""


class CompensationStarted(Event, frozen=True, tag="compensation.started"):
    token: int
    attempt: int = 1


class CompensationRetryScheduled(Event, frozen=True, tag="compensation.retry_scheduled"):
    token: int
    attempt: int
    due: Instant


class CompensationSkipped(Event, frozen=True, tag="compensation.skipped"):
    """Whether it was done is not known, and its rule says to leave it; or somebody stopped the undoing."""

    token: int
    reason: str


class CompensationEnded(Event, frozen=True, tag="compensation.ended"):
    token: int
    fault: Fault | None = None


class IncidentRaised(Event, frozen=True, tag="incident.raised"):
    fault: Fault
    token: int = 0


EVENTS: tuple[type[Event], ...] = tuple(Event.__subclasses__())
"""Every kind of event, in the order of this module."""
