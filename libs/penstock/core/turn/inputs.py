"""What comes into the loop: deliveries, the answers to what it asked for, and whose the shard is.

An answer carries the ticket of what it answers. One whose ticket is no longer awaited is late, and is ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import msgspec

from penstock.core.model.commands import Command
from penstock.core.model.commit import Commit, Head, RunKey
from penstock.core.model.decider import Facts
from penstock.core.model.events import Fault
from penstock.core.model.time import Instant

Ticket: TypeAlias = int
Delivery: TypeAlias = int
"""How whoever drives the loop names a message that it holds until it is told what becomes of it."""


class LoggedCommit(Protocol):
    """A commit as it stands in the log; `head` is where the log ended with it."""

    @property
    def id(self) -> str: ...
    @property
    def head(self) -> Head: ...
    @property
    def commit(self) -> Commit: ...


class SavedState(Protocol):
    """A snapshot, as `SaveSnapshot` gave it out."""

    @property
    def head(self) -> Head: ...
    @property
    def state(self) -> bytes: ...


# -- work


class Deliver(msgspec.Struct, frozen=True):
    """A command, for the first time or again."""

    delivery: Delivery
    key: RunKey
    id: str
    command: Command | None
    """None: its bytes are no command; `problem` says why."""
    deliveries: int = 1
    reply: str = ""
    problem: str = ""


class TimerDue(msgspec.Struct, frozen=True):
    """A timer fired, here or on the server. It is held like any delivery: handed back, it fires again."""

    delivery: Delivery
    key: RunKey
    timer: str
    due: Instant
    deliveries: int = 1


class TimerSettled(msgspec.Struct, frozen=True):
    """An armed timer needs no more care: it fired, was dropped, or is with the server."""

    key: RunKey
    timer: str


class Heal(msgspec.Struct, frozen=True):
    """A run whose last effects may be missing: found by a scan."""

    key: RunKey


class Scanned(msgspec.Struct, frozen=True):
    """Every run that the scan found was handed in as a `Heal`."""

    ticket: Ticket


# -- answers


class Loaded(msgspec.Struct, frozen=True):
    """A run as the log has it; without snapshot and commits, there is none."""

    ticket: Ticket
    commits: Sequence[LoggedCommit] = ()
    snapshot: SavedState | None = None


class Fetched(msgspec.Struct, frozen=True):
    ticket: Ticket
    facts: Facts


class LastRead(msgspec.Struct, frozen=True):
    """The sequence of the run's last commit, from the leader, read at `at`; 0 if there is none."""

    ticket: Ticket
    sequence: int
    at: Instant


class Appended(msgspec.Struct, frozen=True):
    """The commit is in the log, and this is known since `at`."""

    ticket: Ticket
    head: Head
    at: Instant


class Conflicted(msgspec.Struct, frozen=True):
    """The log does not end where the commit expected; `tail` is what follows that place, if it was read."""

    ticket: Ticket
    at: Instant
    tail: Sequence[LoggedCommit] = ()


class Published(msgspec.Struct, frozen=True):
    """Every effect is where it belongs."""

    ticket: Ticket


class Failed(msgspec.Struct, frozen=True):
    """What was asked for could not be done: not now if the fault is retryable, else never."""

    ticket: Ticket
    fault: Fault


# -- whose the shard is


class Gained(msgspec.Struct, frozen=True):
    """The shard is ours. No two tenures of a shard have the same epoch."""

    epoch: int
    mark: int = 0


class Lost(msgspec.Struct, frozen=True):
    """The shard is another's."""


class Doubtful(msgspec.Struct, frozen=True):
    """The shard may be another's: our last sign of life is too old."""


Answer: TypeAlias = Loaded | Fetched | LastRead | Appended | Conflicted | Published | Failed
Input: TypeAlias = Deliver | TimerDue | TimerSettled | Heal | Scanned | Answer | Gained | Lost | Doubtful
