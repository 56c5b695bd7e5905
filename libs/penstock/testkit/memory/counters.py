"""Counters in memory."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence

from penstock.core.model.time import SECOND, Instant
from penstock.fabric.naming import check_id
from penstock.fabric.ports.counters import CounterKey, Divergence, Increment, check_increment, divergence


class MemoryCounters:
    def __init__(self, now: Callable[[], Instant], window: float = 600.0) -> None:
        self._now = now
        self._window = int(window * SECOND)
        self._values: dict[CounterKey, int] = {}
        self._counted: dict[tuple[CounterKey, str], Instant] = {}
        self._watchers: defaultdict[CounterKey, set[asyncio.Queue[int]]] = defaultdict(set)

    async def add(self, key: CounterKey, amount: int, *, operation: str) -> int:
        return self._increase(Increment(_check(key), amount, operation))

    async def add_many(self, increments: Sequence[Increment]) -> list[int]:
        for increment in increments:
            _check(increment.key)
            check_increment(increment)
        return [self._increase(increment) for increment in increments]

    async def read(self, key: CounterKey) -> int:
        return self._values.get(_check(key), 0)

    async def read_many(self, keys: Iterable[CounterKey]) -> dict[CounterKey, int]:
        return {key: self._values.get(_check(key), 0) for key in keys}

    async def watch(self, key: CounterKey) -> AsyncIterator[int]:
        changes: asyncio.Queue[int] = asyncio.Queue()
        if _check(key) in self._values:
            changes.put_nowait(self._values[key])
        self._watchers[key].add(changes)
        try:
            while True:
                yield await changes.get()
        finally:
            self._watchers[key].discard(changes)

    async def compare(self, key: CounterKey, expected: int) -> Divergence | None:
        return divergence(key, expected, await self.read(key))

    async def trim(self) -> int:
        horizon = self._now() - self._window
        old = [counted for counted, at in self._counted.items() if at < horizon]
        for counted in old:
            del self._counted[counted]
        return len(old)

    def _increase(self, increment: Increment) -> int:
        check_increment(increment)
        key, now = increment.key, self._now()
        counted = self._counted.get((key, increment.operation))
        if counted is None or counted < now - self._window:
            self._counted[key, increment.operation] = now
            self._values[key] = self._values.get(key, 0) + increment.amount
            for changes in self._watchers.get(key, ()):
                changes.put_nowait(self._values[key])
        return self._values[key]


def _check(key: CounterKey) -> CounterKey:
    check_id(key.tenant, "tenant")
    check_id(key.name, "counter")
    return key
