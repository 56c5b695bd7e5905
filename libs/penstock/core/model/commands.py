"""What a decider is asked."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from penstock.core.model.events import Artifact, Fault, Outcome
from penstock.core.model.time import Instant

Json: TypeAlias = Any


class Command(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type"):
    pass


class SendSignal(Command, frozen=True, tag="signal.send"):
    signal: str
    name: str
    payload: Json = None


class Start(Command, frozen=True, tag="start"):
    workflow: str
    graph: str
    input: Json
    seed: str
    run: str = ""
    submitted_by: str = ""
    labels: dict[str, str] = {}
    correlation: str = ""
    parent: str | None = None
    depth: int = 0
    deadline: Instant | None = None
    """The parent's, if it is nearer than the definition's own."""
    artifacts: tuple[Artifact, ...] = ()
    signals: tuple[SendSignal, ...] = ()
    """Sent with the start: there before anything waits for them."""


class TaskResult(Command, frozen=True, tag="task.result"):
    """What a worker made of a task. Fenced by token, attempt and nonce."""

    token: int
    attempt: int
    nonce: str
    status: Literal["completed", "failed", "cancelled"]
    output: Json = None
    fault: Fault | None = None
    next_nodes: tuple[str, ...] | None = None
    metadata: dict[str, Json] = {}
    artifacts: tuple[Artifact, ...] = ()


class TaskBegun(Command, frozen=True, tag="task.begun"):
    """A worker has begun the task."""

    token: int
    attempt: int
    nonce: str


class RetryParked(Command, frozen=True, tag="parked.retry"):
    """One more attempt, with the same idempotency key."""

    token: int


class DropParked(Command, frozen=True, tag="parked.drop"):
    """Give it up: the node fails."""

    token: int


class FireTimer(Command, frozen=True, tag="timer.fire"):
    timer: str


class DecideApproval(Command, frozen=True, tag="approval.decide"):
    approval: str
    decision: Literal["approved", "rejected"]
    decided_by: str
    comments: str = ""
    data: Json = None


class EndChild(Command, frozen=True, tag="child.end"):
    child: str
    outcome: Outcome
    output: Json = None
    fault: Fault | None = None


class Cancel(Command, frozen=True, tag="cancel"):
    reason: str = ""
    force: bool = False
    """Wait for nobody, and undo nothing more."""


class Compensate(Command, frozen=True, tag="compensate"):
    """Undo what a closed run did."""

    reason: Literal["failure", "cancel", "manual"] = "manual"
    by: str = ""


class ChildCompensated(Command, frozen=True, tag="child.compensated"):
    child: str
    fault: Fault | None = None


class Pause(Command, frozen=True, tag="pause"):
    pass


class Resume(Command, frozen=True, tag="resume"):
    pass


class Patch(Command, frozen=True, tag="patch"):
    """Change the definition of this run, from the next decision on."""

    id: str
    operations: tuple[Json, ...]
    """JSON Patch, with nodes and transitions named by id."""
    by: str = ""
    expected_revision: int | None = None
    note: str = ""


class ProposePatch(Command, frozen=True, tag="patch.propose"):
    """A patch that somebody has to approve first. It is checked now, and again then."""

    id: str
    operations: tuple[Json, ...]
    by: str = ""
    expected_revision: int | None = None
    note: str = ""


class DecidePatch(Command, frozen=True, tag="patch.decide"):
    patch: str
    decision: Literal["approved", "rejected"]
    decided_by: str
    comments: str = ""


class Revert(Command, frozen=True, tag="revert"):
    """Patch it back to what it was at an earlier revision."""

    id: str
    to_revision: int
    by: str = ""
    expected_revision: int | None = None
    note: str = ""


class Continue(Command, frozen=True, tag="continue"):
    """Go on with what a long decision left."""


COMMANDS: tuple[type[Command], ...] = tuple(Command.__subclasses__())
