"""What all runs of one tenure share: the time, the mark, who waits for which answer, and what is to be done."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from itertools import count

from penstock.core.model.time import Instant
from penstock.core.turn.inputs import Ticket
from penstock.core.turn.limits import Limits
from penstock.core.turn.mark import Mark
from penstock.core.turn.outputs import Output
from penstock.core.turn.run import Kind, Phase, Run

_EPOCH = 40
"""From this bit on, a ticket says whose it is."""


class Desk:
    """A new one for every tenure: it begins with nothing known and nothing awaited (rule 4)."""

    def __init__(self, kinds: Mapping[str, Kind], limits: Limits, epoch: int = 0, mark: int = 0) -> None:
        self.kinds = kinds
        self.limits = limits
        self.epoch = epoch
        self.own = f"{epoch}."
        """What the ids of our commits begin with."""
        self.mark = Mark(mark)
        self.now = Instant(0)
        self.out: list[Output] = []
        self.doubtful = False
        """A commit was acknowledged so long ago that the shard may be another's by now."""
        self._tickets = count((epoch << _EPOCH) + 1)
        self._awaited: dict[Ticket, Run] = {}
        self._pauses: list[tuple[Instant, Ticket, Run]] = []

    def ticket(self) -> Ticket:
        """No other tenure has the same: what answers a former one is nobody's."""
        return next(self._tickets)

    def commit_id(self, ticket: Ticket) -> str:
        return f"{self.own}{ticket & ((1 << _EPOCH) - 1)}"

    def ask(self, run: Run, phase: Phase) -> Ticket:
        run.move(phase)
        ticket = self.ticket()
        self._awaited[ticket] = run
        return ticket

    def answered(self, ticket: Ticket) -> Run | None:
        """Whose question it was; None if nobody waits for the answer any more."""
        return self._awaited.pop(ticket, None)

    def pause(self, run: Run) -> None:
        """Try again in a while, from the log. The last commit may be ours, and lack its effects."""
        run.forget()
        run.dirty = True
        run.move("pausing")
        heapq.heappush(self._pauses, (Instant(self.now + self.limits.retry), self.ticket(), run))

    def wake(self) -> list[Run]:
        """Those whose pause is over."""
        woken = []
        while self._pauses and self._pauses[0][0] <= self.now:
            run = heapq.heappop(self._pauses)[2]
            run.move("cold")
            woken.append(run)
        return woken

    @property
    def due(self) -> Instant | None:
        return self._pauses[0][0] if self._pauses else None

    def hold(self, run: Run, sequence: int) -> None:
        """The mark stays at or below this until the run's turn is over, however often it is tried."""
        self.mark.hold(sequence)
        self.release(run)
        run.held = sequence

    def release(self, run: Run) -> None:
        if run.held is not None:
            self.mark.release(run.held)
            run.held = None
