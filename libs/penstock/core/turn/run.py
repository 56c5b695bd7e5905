"""One live run: what is known of it, what it has in hand, and where it is in its cycle.

                                    ┌──────────── fetching ◀─┐ the decision needs facts
                                    ▼                        │
    cold ──▶ loading ──▶ resting ──▶ decided ──▶ appending ──┼──▶ publishing ──▶ resting
     ▲ ▲                                └──────▶ confirming ─┘
     │ └── a conflict, another's commit, an exception: the state is dropped
     └──── pausing ◀── a failure that may pass

One turn at a time: the next commit of a run goes out after the effects of the one before are where they belong.
So of all its commits, only the last can lack its effects.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec

from penstock.core.errors import PenstockError
from penstock.core.graph.errors import IllegalTransition
from penstock.core.model.commands import Command
from penstock.core.model.commit import EMPTY, Cause, Head, RunKey
from penstock.core.model.decider import NO_FACTS, Decider, Facts, Need
from penstock.core.model.effects import ArmTimer
from penstock.core.model.events import Event
from penstock.core.model.time import Instant
from penstock.core.turn.inputs import Delivery
from penstock.core.turn.outputs import Summary

Phase: TypeAlias = Literal["cold", "loading", "fetching", "resting", "confirming", "appending", "publishing", "pausing"]

MOVES: dict[Phase, frozenset[Phase]] = {
    "cold": frozenset({"loading", "resting"}),
    "loading": frozenset({"resting", "cold", "pausing"}),
    "resting": frozenset({"confirming", "appending", "fetching", "cold"}),
    "fetching": frozenset({"cold", "pausing"}),
    "confirming": frozenset({"publishing", "resting", "cold", "pausing", "fetching"}),
    "appending": frozenset({"publishing", "resting", "cold", "pausing", "fetching"}),
    "publishing": frozenset({"resting", "pausing"}),
    "pausing": frozenset({"cold"}),
}

Verdict: TypeAlias = Literal["decided", "known", "refused", "missing", "broken"]

S = TypeVar("S")


class Kind(msgspec.Struct, frozen=True):
    """How runs of one kind are decided."""

    decider: Decider[Any]
    summarize: Callable[[Any], Summary] | None = None
    """Told from the state at less cost than by listing everything that it waits for."""

    def summary(self, state: Any, facts: Facts) -> Summary:  # noqa: ANN401 - each kind's own
        if self.summarize is not None:
            return self.summarize(state)
        waiting = self.decider.outstanding(state, facts)
        dues = [effect.due for effect in waiting if isinstance(effect, ArmTimer)]
        return Summary(len(waiting), min(dues, default=None))


class Entry(msgspec.Struct, eq=False):
    """Something that a run has in hand: a command, a timer that fired, a look at what it waits for, an incident."""

    id: str
    kind: str
    command: Command | None = None
    held: list[Delivery] = []
    """As it came, and came again."""
    deliveries: int = 1
    reply: str = ""
    timer: str = ""
    facts: Facts = NO_FACTS
    error: PenstockError | None = None
    """Why it is given up; of a refused one, why it was refused."""
    told: bool = False
    """The run knows that it is given up, or cannot be told."""
    verdict: Verdict = "decided"


class Fold(msgspec.Struct, eq=False):
    """One turn: the entries that were decided together, and what follows."""

    at: Instant
    entries: list[Entry] = []
    events: list[Event] = []
    raws: list[msgspec.Raw] = []
    causes: list[Cause] = []
    size: int = 0
    repeats: bool = False
    """Everything that the run waits for is published again."""
    need: Need | None = None
    """Of the last entry, or of the run itself if there is `lacks`."""
    lacks: bool = False
    broken: bool = False
    """The last entry left the state half-changed."""
    commit: str = ""
    summary: Summary | None = None


class Run:
    __slots__ = (
        "alone",
        "at",
        "dirty",
        "facts",
        "floor",
        "fold",
        "fresh",
        "hand",
        "head",
        "held",
        "horizon",
        "key",
        "kind",
        "kind_name",
        "owed",
        "phase",
        "saved",
        "seen",
        "state",
        "wants",
        "whole",
    )

    def __init__(self, key: RunKey) -> None:
        self.key = key
        self.phase: Phase = "cold"
        self.hand: dict[str, Entry] = {}
        """In the order they came; those of the turn under way lead. What is finished is taken out."""
        self.fold: Fold | None = None
        self.held: int | None = None
        """The sequence that the turn under way holds the mark at."""
        self.horizon = Instant(0)
        """The latest due time of a timer that fired."""
        self.fresh = True
        """Nothing was ever asked about it."""
        self.dirty = False
        """A turn was broken off: the last commit may lack its effects."""
        self.alone = False
        """The log refused a commit: commands go one by one until it is known which is to blame."""
        self.whole = False
        self.facts = NO_FACTS
        """What its effects follow from besides the state."""
        self.wants: Entry | None = None
        """For whom facts are being fetched; None: for the run itself."""
        self.floor = 0
        """The log is known to reach this sequence; what ends before was read from a replica that is behind."""
        self.forget()

    def move(self, to: Phase) -> None:
        if to not in MOVES[self.phase]:
            raise IllegalTransition(what=f"run {self.key.run}", now=self.phase, asked=to)
        self.phase = to

    def forget(self) -> None:
        """Drop what is known of it: the log knows."""
        self.kind: Kind | None = None
        self.kind_name = ""
        self.state: Any = None
        self.head: Head = EMPTY
        self.at = Instant(0)
        self.seen: OrderedDict[str, Instant] = OrderedDict()
        """Commands that are in the log, and since when they are remembered (rules 5, 9)."""
        self.owed: list[Event] | None = None
        """Events of its last commit, whose effects may never have been published."""
        self.saved = 0
        """Up to which event a snapshot has it."""
        self.fold = None

    def remember(self, causes: list[Cause], at: Instant, window: int) -> None:
        """By time, never by count: what comes again comes soon, but it may be many."""
        seen = self.seen
        for cause in causes:
            seen[cause.id] = at
        while seen and next(iter(seen.values())) < at - window:
            seen.popitem(last=False)
