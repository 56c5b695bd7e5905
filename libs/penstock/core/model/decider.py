"""What the loop asks of a decider of any kind of program, and what a decider may ask back.

A decision is pure, so what it cannot know from the state comes in as `Facts`. A decider that misses one answers with
a `Need` instead of events; whoever drives it fetches the facts and asks again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeAlias, TypeVar

import msgspec

from penstock.core.model.commands import Command
from penstock.core.model.effects import Effect
from penstock.core.model.evaluate import Failure
from penstock.core.model.events import Event
from penstock.core.model.time import Instant

Json: TypeAlias = Any

S = TypeVar("S")


class Need(msgspec.Struct, frozen=True):
    """What has to be fetched before the command can be decided."""

    definitions: frozenset[str] = frozenset()
    """Content hashes, or `workflow@version` where a run is handed over."""
    blobs: frozenset[str] = frozenset()
    """Content hashes of values that an expression reads into."""
    memos: frozenset[str] = frozenset()
    """Keys under which an earlier run may have left a result."""


class Memo(msgspec.Struct, frozen=True):
    """What the same work put out before."""

    output: Json


class Facts(msgspec.Struct, frozen=True):
    """What was fetched. A memo that nobody left is there as None."""

    definitions: Mapping[str, Json] = {}
    blobs: Mapping[str, Json | Failure] = {}
    """A `Failure` where there is no such blob, or where it is too large."""
    memos: Mapping[str, Memo | None] = {}


NO_FACTS = Facts()


class Missing(Exception):
    """A decision cannot go on without these facts; the state it was made on must be dropped."""

    def __init__(self, need: Need) -> None:
        super().__init__(need)
        self.need = need


class Decider(Protocol[S]):
    """The pure functions of one kind of program."""

    def initial(self) -> S: ...

    def decide(self, state: S, command: Command, now: Instant, facts: Facts = NO_FACTS) -> list[Event] | Need:
        """The events that follow; `state` has them applied.

        A `DomainError` refuses the command and has done nothing. After a `Need` or any other exception the state is
        half-changed and must be dropped.
        """

    def evolve(self, state: S, event: Event, at: Instant) -> None:
        """The only way that state changes."""

    def effects(self, state: S, events: Iterable[Event], facts: Facts = NO_FACTS) -> list[Effect]:
        """What must now be done because of these events, given the state after them. May raise `Missing`."""

    def outstanding(self, state: S, facts: Facts = NO_FACTS) -> list[Effect]:
        """Everything that the run waits for right now. May raise `Missing`."""
