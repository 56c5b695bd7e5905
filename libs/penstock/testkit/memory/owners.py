"""Owners in memory: the same fence over in-memory queues."""

from __future__ import annotations

from penstock.fabric.errors import LeaseLost
from penstock.fabric.ports.owners import VACANT, Inboxes, Member, Tenure
from penstock.testkit.clock import VirtualClock
from penstock.testkit.memory.commands import MemoryCommands
from penstock.testkit.memory.queues import MemoryInbox, MemoryQueue
from penstock.testkit.memory.schedules import MemorySchedules

_LEASE = 300.0


class MemoryOwners:
    def __init__(self, clock: VirtualClock, commands: MemoryCommands, schedules: MemorySchedules) -> None:
        self._clock = clock
        self._commands = commands
        self._schedules = schedules
        self._members: dict[str, tuple[Member, float]] = {}
        self._tenures: dict[int, Tenure] = {}
        self._marks: dict[int, int] = {}

    async def announce(self, member: Member, ttl: float) -> None:
        self._members[member.name] = (member, self._clock.monotonic() + ttl)

    async def withdraw(self, member: Member) -> None:
        self._members.pop(member.name, None)

    async def members(self) -> list[Member]:
        now = self._clock.monotonic()
        return [member for member, until in self._members.values() if until > now]

    async def tenures(self) -> dict[int, Tenure]:
        return dict(self._tenures)

    async def claim(self, shard: int, tenure: Tenure) -> bool:
        if self._tenures.get(shard, VACANT).revision != tenure.revision:
            return False
        self._tenures[shard] = Tenure(tenure.owner, tenure.epoch, tenure.revision + 1)
        return True

    async def fence(self, shard: int, epoch: int) -> Inboxes:
        return Inboxes(
            _replace(self._commands.shards[shard], shard, epoch),
            _replace(self._schedules.fired[shard], shard, epoch),
        )

    async def load_mark(self, shard: int) -> int:
        return self._marks.get(shard, 1)

    async def save_mark(self, shard: int, sequence: int) -> None:
        self._marks[shard] = max(sequence, self._marks.get(shard, 1))


def _replace(queue: MemoryQueue, shard: int, epoch: int) -> MemoryInbox:
    for other in map(int, queue.consumers()):
        if other > epoch:
            raise LeaseLost(shard=shard, epoch=other)
        if other < epoch:
            queue.drop_consumer(str(other))
    return MemoryInbox(queue.consume(str(epoch), lease=_LEASE))
