"""What must be done because of a commit. Ids come from the thing itself, so that repeating one is harmless."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

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
    timeout: int | None = None
    claim: bool = False
    compensates: bool = False


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


class StartChild(Effect, frozen=True, tag="child.start"):
    child: str
    workflow: str
    version: str | None
    input: Json


class CancelChild(Effect, frozen=True, tag="child.cancel"):
    child: str


class ContinueRun(Effect, frozen=True, tag="run.continue"):
    """A command to itself."""


class ReportOutcome(Effect, frozen=True, tag="run.report"):
    """Tell the parent."""

    parent: str
    outcome: str
    output: Json = None


EFFECTS: tuple[type[Effect], ...] = tuple(Effect.__subclasses__())
