"""The low-water mark of a shard (rule 6): below it, no commit needs any more care.

A commit is held while its effects are under way, and once for each timer that it armed in memory. One that is on
its way to the log is held too, at the lowest sequence that it can get.
"""

from __future__ import annotations

import heapq

import msgspec

from penstock.core.model.commit import RunKey


class _Pin(msgspec.Struct):
    sequence: int
    firing: bool = False


class Mark:
    def __init__(self, start: int) -> None:
        self.start = start
        self.next = start
        """One past the highest sequence seen: a commit that goes out now is sure not to come before."""
        self._held: dict[int, int] = {}
        self._order: list[int] = []
        self._timers: dict[tuple[RunKey, str], _Pin] = {}

    @property
    def value(self) -> int:
        while self._order and self._order[0] not in self._held:
            heapq.heappop(self._order)
        return self._order[0] if self._order else self.next

    def hold(self, sequence: int) -> int:
        count = self._held.get(sequence, 0)
        if not count:
            heapq.heappush(self._order, sequence)
        self._held[sequence] = count + 1
        return sequence

    def release(self, sequence: int) -> None:
        count = self._held.pop(sequence) - 1
        if count:
            self._held[sequence] = count

    def see(self, sequence: int) -> None:
        self.next = max(self.next, sequence + 1)

    # -- timers in memory

    def arm(self, key: RunKey, timer: str, sequence: int) -> None:
        """Set anew, it belongs to the later commit."""
        before = self._timers.get((key, timer))
        self._timers[key, timer] = _Pin(self.hold(sequence))
        if before is not None:
            self.release(before.sequence)

    def fire(self, key: RunKey, timer: str) -> None:
        """It left its memory; until the run has taken it, nobody else knows of it."""
        if (pin := self._timers.get((key, timer))) is not None:
            pin.firing = True

    def settle(self, key: RunKey, timer: str, *, taken: bool) -> None:
        """It needs no more care: `taken` by its run, or for any other reason unless it is on the way there."""
        pin = self._timers.get((key, timer))
        if pin is not None and pin.firing == taken:
            del self._timers[key, timer]
            self.release(pin.sequence)
