"""A task as workers get it: JSON with all that the work needs, and where its result goes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias

import msgspec

from penstock.core.model.effects import DispatchTask
from penstock.core.model.time import MILLISECOND, Instant
from penstock.wire.encoding import FORMAT

Json: TypeAlias = Any

PATIENCE: Final = 24 * 3_600_000
"""Milliseconds until the deadline of a task whose node has no time-out: no task is without one."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NODE = "node"
_DIGITS = 15


class TaskMessage(msgspec.Struct, frozen=True, rename={"format": "v"}):
    run_id: str
    task_id: str
    attempt: int
    nonce: str
    """Goes back with the result: only who was given the task can answer it."""
    node: str
    type: str
    config: Json
    input: Json
    deadline: datetime
    idempotency_key: str
    """The same for every attempt."""
    reply: str
    """The subject of the result."""
    claim: bool = False
    purpose: str = _NODE
    format: int = FORMAT

    @property
    def id(self) -> str:
        return attempt_id(self.task_id, self.attempt)


_encode = msgspec.json.Encoder().encode


def encode_task(run: str, task: DispatchTask, reply: str, now: Instant) -> bytes:
    due = now + (PATIENCE if task.timeout is None else task.timeout) * MILLISECOND
    return _encode(
        TaskMessage(
            run_id=run,
            task_id=task_id(run, task.token, task.purpose),
            attempt=task.attempt,
            nonce=task.nonce,
            node=task.node,
            type=task.kind,
            config=task.config,
            input=task.input,
            deadline=_EPOCH + timedelta(microseconds=due),
            idempotency_key=task.idempotency_key,
            reply=reply,
            claim=task.claim,
            purpose=task.purpose,
        )
    )


def task_id(run: str, token: int, purpose: str = _NODE) -> str:
    """`<run>.<token>`, and what else is done for the token: `<run>.<token>.undo`."""
    return f"{run}.{token}" if purpose == _NODE else f"{run}.{token}.{purpose}"


def attempt_id(task: str, attempt: int) -> str:
    """Names the task in its queue, and its result in the shard's."""
    return f"{task}-{attempt}"


def token_of(run: str, task: str) -> int:
    """The token that a task of this run belongs to."""
    number = task.removeprefix(f"{run}.").partition(".")[0]
    if not (task.startswith(f"{run}.") and number.isascii() and number.isdigit() and len(number) <= _DIGITS):
        raise msgspec.ValidationError(f"{task[:256]!r} is no task of run {run}")
    return int(number)
