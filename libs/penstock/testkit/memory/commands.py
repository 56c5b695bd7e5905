"""Commands in memory: a queue per shard."""

from __future__ import annotations

from penstock.core.model.commit import RunKey
from penstock.fabric.naming import Names
from penstock.testkit.clock import VirtualClock
from penstock.testkit.memory.queues import MemoryQueue


class MemoryCommands:
    def __init__(self, names: Names, clock: VirtualClock) -> None:
        self._names = names
        self.shards = [MemoryQueue(clock) for _ in range(names.shards)]

    async def send(self, key: RunKey, command: str, body: bytes) -> None:
        self.shards[self._names.shard(key)].publish(self._names.command(key), body, id=command)

    async def send_result(self, key: RunKey, result: str, body: bytes) -> None:
        self.shards[self._names.shard(key)].publish(self._names.result(key), body, id=result)
