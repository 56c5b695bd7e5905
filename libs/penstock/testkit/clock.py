"""A clock that stands still until it is told to go on."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count

from penstock.core.model.time import SECOND, Instant

_START = Instant(0)


class VirtualClock:
    """Time for in-memory adapters: `advance` runs what falls due on the way, each at its own moment."""

    def __init__(self, start: Instant = _START) -> None:
        self._now = start
        self._alarms: list[tuple[int, int, Callable[[], None]]] = []
        self._serial = count()

    def now(self) -> Instant:
        return self._now

    def monotonic(self) -> float:
        return self._now / SECOND

    def call_at(self, when: Instant, action: Callable[[], None]) -> None:
        heapq.heappush(self._alarms, (when, next(self._serial), action))

    def call_later(self, delay: float, action: Callable[[], None]) -> None:
        self.call_at(Instant(self._now + round(delay * SECOND)), action)

    def advance(self, seconds: float) -> None:
        end = self._now + round(seconds * SECOND)
        while self._alarms and self._alarms[0][0] <= end:
            when, _, action = heapq.heappop(self._alarms)
            self._now = Instant(max(self._now, when))
            action()
        self._now = Instant(end)
