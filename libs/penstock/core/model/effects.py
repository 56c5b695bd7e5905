"""What must be done because of a commit. Ids come from the thing itself, so that repeating one is harmless."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from penstock.core.model.events import Artifact, Fault
from penstock.core.model.graph import ConfigRule
from penstock.core.model.time import Instant

Json: TypeAlias = Any


class Effect(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type"):
    pass


class DispatchTask(Effect, frozen=True, tag="task.dispatch"):
    token: int
    attempt: int
    nonce: str
    node: str
    kind: str
    queue: str
    config: Json
    input: Json
    idempotency_key: str
    config_ref: ConfigRule | None = None
    """A registered configuration, under what `config` says."""
    timeout: int | None = None
    claim: bool = False
    purpose: Literal["node", "undo", "route"] = "node"


class CancelTask(Effect, frozen=True, tag="task.cancel"):
    token: int
    attempt: int
    queue: str


class ArmTimer(Effect, frozen=True, tag="timer.arm"):
    timer: str
    due: Instant


class DropTimer(Effect, frozen=True, tag="timer.drop"):
    timer: str


class AskApproval(Effect, frozen=True, tag="approval.ask"):
    approval: str
    node: str
    input: Json
    approvers: tuple[str, ...] = ()
    due: Instant | None = None
    form: Json = None


class WithdrawApproval(Effect, frozen=True, tag="approval.withdraw"):
    approval: str


class StartChild(Effect, frozen=True, tag="child.start"):
    child: str
    workflow: str
    version: str | None
    input: Json
    depth: int = 1
    deadline: Instant | None = None
    artifacts: tuple[Artifact, ...] = ()


class TellChild(Effect, frozen=True, tag="child.tell"):
    """A command to a child run."""

    child: str
    what: Literal["cancel", "pause", "resume", "compensate"]
    reason: Literal["", "failure", "cancel", "manual"] = ""
    """Why it is undone."""


class SaveMemo(Effect, frozen=True, tag="memo.save"):
    """Others may take this output instead of doing the work again."""

    memo: str
    output: Json


class KeepDeadLetter(Effect, frozen=True, tag="deadletter.keep"):
    """For people to look at; its payload is in the log."""

    token: int
    attempt: int
    node: str
    queue: str
    fault: Fault
    parked: bool = False


class CommitArtifacts(Effect, frozen=True, tag="artifacts.commit"):
    artifacts: tuple[Artifact, ...]


class ContinueRun(Effect, frozen=True, tag="run.continue"):
    """A command to itself."""


class ReportOutcome(Effect, frozen=True, tag="run.report"):
    """Tell the parent."""

    parent: str
    outcome: str
    output: Json = None
    fault: Fault | None = None


class ReportCompensation(Effect, frozen=True, tag="run.report_compensation"):
    """Tell the parent that what it asked to be undone is undone, or not."""

    parent: str
    fault: Fault | None = None


EFFECTS: tuple[type[Effect], ...] = tuple(Effect.__subclasses__())
