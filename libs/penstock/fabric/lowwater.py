"""The low-water mark of a shard: below it, every commit has had its effects.

Written behind, about once a second. A mark that is too low only means that more is looked at again.
"""

from __future__ import annotations

import heapq


class LowWater:
    """Keeps the mark while commits come and their effects are acknowledged in any order."""

    def __init__(self, mark: int) -> None:
        self._mark = mark
        self._pending: list[int] = []
        self._done: set[int] = set()

    @property
    def mark(self) -> int:
        return self._mark

    def begin(self, sequence: int) -> None:
        """A commit is in the log; its effects are still to come."""
        heapq.heappush(self._pending, sequence)

    def finish(self, sequence: int) -> None:
        """Its effects are acknowledged, its timers closed or promoted."""
        self._done.add(sequence)
        while self._pending and self._pending[0] in self._done:
            first = heapq.heappop(self._pending)
            self._done.discard(first)
            self._mark = max(self._mark, first + 1)
