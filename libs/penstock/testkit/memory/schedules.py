"""Schedules in memory: they fire into the shard's queue of fired timers when the virtual clock gets there."""

from __future__ import annotations

from penstock.core.model.commit import RunKey
from penstock.fabric.naming import Names
from penstock.fabric.ports.schedules import Timer, encode_timer
from penstock.testkit.clock import VirtualClock
from penstock.testkit.memory.queues import MemoryQueue


class MemorySchedules:
    def __init__(self, names: Names, clock: VirtualClock) -> None:
        self._names = names
        self._clock = clock
        self._set: dict[str, Timer] = {}
        self.fired = [MemoryQueue(clock) for _ in range(names.shards)]

    async def set(self, timer: Timer) -> None:
        subject = self._names.timer(timer.key, timer.id)
        self._set[subject] = timer

        def fire() -> None:
            if self._set.get(subject) is timer:
                del self._set[subject]
                queue = self.fired[self._names.shard(timer.key)]
                queue.publish(self._names.fired(timer.key), encode_timer(timer))

        self._clock.call_at(timer.due, fire)

    async def clear(self, key: RunKey, timer: str) -> None:
        self._set.pop(self._names.timer(key, timer), None)
