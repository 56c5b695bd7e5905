"""Measures how long an event loop was held up, less the time the machine gave its thread no core."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

_INTERVAL = 0.002
_SCHEDSTAT = Path("/proc/thread-self/schedstat")


class Ticker:
    longest = 0.0

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._arm()

    def _arm(self) -> None:
        self._armed, self._starved = perf_counter(), _starved()
        self._handle = self._loop.call_later(_INTERVAL, self._tick)

    def _tick(self) -> None:
        late = perf_counter() - self._armed - _INTERVAL - (_starved() - self._starved)
        self.longest = max(self.longest, late)
        self._arm()

    def stop(self) -> None:
        self._tick()
        self._handle.cancel()


@contextmanager
def ticking() -> Iterator[Ticker]:
    ticker = Ticker()
    try:
        yield ticker
    finally:
        ticker.stop()


def _starved() -> float:
    """Seconds this thread could have run but had no core."""
    return int(_SCHEDSTAT.read_text().split()[1]) / 1e9
