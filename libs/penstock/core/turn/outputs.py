"""What the loop wants done. What carries a ticket is answered by an input with the same one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from penstock.core.model.commit import Cause, Head, RunKey
from penstock.core.model.decider import Need
from penstock.core.model.effects import Effect
from penstock.core.model.events import Fault
from penstock.core.model.time import Instant
from penstock.core.turn.inputs import Delivery, Ticket


class Summary(msgspec.Struct, frozen=True):
    """What a run's state says in one line."""

    open: int
    """How many things it waits for; 0 when it is closed."""
    due: Instant | None = None
    """When its earliest timer fires."""
    status: str = ""
    outcome: str | None = None


# -- answered


class LoadRun(msgspec.Struct, frozen=True):
    """→ `Loaded`, `Failed`. Not retryable: the log is broken."""

    ticket: Ticket
    key: RunKey
    whole: bool = False
    """From its first commit: the snapshot is of no use."""


class FetchFacts(msgspec.Struct, frozen=True):
    """→ `Fetched`, `Failed`. Not retryable: a definition or a blob is not there. A memo that is not there is None."""

    ticket: Ticket
    key: RunKey
    need: Need


class ConfirmLast(msgspec.Struct, frozen=True):
    """→ `LastRead`, `Failed`. Asked of the stream's leader."""

    ticket: Ticket
    key: RunKey


class AppendCommit(msgspec.Struct, frozen=True):
    """→ `Appended`, `Conflicted`, `Failed`. Not retryable: the log never takes it."""

    ticket: Ticket
    key: RunKey
    id: str
    head: Head
    """What the commit must follow."""
    at: Instant
    events: tuple[msgspec.Raw, ...]
    causes: tuple[Cause, ...]
    open: int
    due: Instant | None


class PublishEffects(msgspec.Struct, frozen=True):
    """→ `Published`, `Failed`, once all were tried. After `before` none may go out: that is `Doubtful`."""

    ticket: Ticket
    key: RunKey
    effects: tuple[Effect, ...]
    before: Instant


class Scan(msgspec.Struct, frozen=True):
    """→ `Heal` for every run with a commit at or after `sequence`, then `Scanned`. It is tried until it succeeds."""

    ticket: Ticket
    sequence: int


# -- not answered


class Ack(msgspec.Struct, frozen=True):
    delivery: Delivery


class Nak(msgspec.Struct, frozen=True):
    """Deliver it again, after `delay` microseconds."""

    delivery: Delivery
    delay: int


class Bury(msgspec.Struct, frozen=True):
    """Keep it as a dead letter, then acknowledge it. If the first fails, leave out the second."""

    delivery: Delivery
    key: RunKey
    id: str
    fault: Fault


class Accepted(msgspec.Struct, frozen=True):
    """To whoever sent the command: it is in the log, now or since before, or asked for what is so already."""

    reply: str
    id: str
    key: RunKey
    sequence: int
    summary: Summary


class Refused(msgspec.Struct, frozen=True):
    """To whoever sent the command: it changed nothing."""

    reply: str
    id: str
    key: RunKey
    code: str
    message: str
    attributes: Mapping[str, object]
    retryable: bool


class RaiseIncident(msgspec.Struct, frozen=True):
    """Something that people should see. Where the run could be told, it is in its log too."""

    key: RunKey
    fault: Fault


class SaveSnapshot(msgspec.Struct, frozen=True):
    """May be lost."""

    key: RunKey
    head: Head
    state: bytes


class SaveMark(msgspec.Struct, frozen=True):
    """Every commit below this sequence has had its effects, and needs no care for its timers.

    May be lost, but must not come from a former owner: it knows nothing of what its successor has under way.
    """

    epoch: int
    sequence: int


class Abandon(msgspec.Struct, frozen=True):
    """The shard may be another's: give it up. What was not acknowledged goes to the next owner."""

    epoch: int


Output: TypeAlias = (
    LoadRun
    | FetchFacts
    | ConfirmLast
    | AppendCommit
    | PublishEffects
    | Ack
    | Nak
    | Bury
    | Accepted
    | Refused
    | RaiseIncident
    | SaveSnapshot
    | SaveMark
    | Scan
    | Abandon
)
