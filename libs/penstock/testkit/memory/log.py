"""The log in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence

import msgspec

from penstock.core.model.commit import EMPTY, Head, RunKey
from penstock.core.model.time import Instant
from penstock.fabric.errors import FabricError, LogConflict
from penstock.fabric.naming import Names
from penstock.fabric.ports.log import Append, Logged, Summary, check_chain, logged


class Record(msgspec.Struct, frozen=True):
    """A commit as bytes, so that what is read back went through the same codec as on a server."""

    key: RunKey
    sequence: int
    id: str
    body: bytes
    open: int
    due: Instant | None

    def logged(self) -> Logged:
        return logged(self.key, self.id, self.sequence, self.body)

    def summary(self) -> Summary:
        return Summary(self.key, self.sequence, self.id, self.open, self.due)


class MemoryLog:
    def __init__(self, names: Names) -> None:
        self._names = names
        self.shards: list[list[Record]] = [[] for _ in range(names.shards)]
        self._runs: dict[RunKey, list[Record]] = {}
        self._grown = asyncio.Condition()

    async def append(self, append: Append) -> Head:
        self._names.log(append.key)  # the same names are illegal here
        records = self._runs.setdefault(append.key, [])
        last = records[-1].sequence if records else 0
        if last != append.head.sequence:
            return self._settle(append, records)
        shard = self.shards[self._names.shard(append.key)]
        body, head = append.encode()
        record = Record(append.key, len(shard) + 1, append.id, body, append.open, append.due)
        shard.append(record)
        records.append(record)
        async with self._grown:
            self._grown.notify_all()
        return Head(record.sequence, head.digest, head.events)

    async def append_many(self, appends: Sequence[Append]) -> list[Head | FabricError]:
        outcomes: list[Head | FabricError] = []
        for append in appends:
            try:
                outcomes.append(await self.append(append))
            except FabricError as error:
                outcomes.append(error)
        return outcomes

    def _settle(self, append: Append, records: list[Record]) -> Head:
        for record in records:
            if record.id == append.id:
                return record.logged().head
        raise LogConflict(run=append.key.run, expected=append.head.sequence)

    async def read(self, key: RunKey, after: Head = EMPTY) -> list[Logged]:
        records = [record for record in self._runs.get(key, ()) if record.sequence >= after.sequence]
        return check_chain(key, [record.logged() for record in records], after)

    async def last(self, key: RunKey) -> Summary | None:
        records = self._runs.get(key)
        return records[-1].summary() if records else None

    async def lasts(self, keys: Iterable[RunKey]) -> list[Summary]:
        found = [summary for key in dict.fromkeys(keys) if (summary := await self.last(key))]
        return sorted(found, key=lambda summary: (self._names.shard(summary.key), summary.sequence))

    async def scan(self, shard: int, sequence: int = 1) -> AsyncIterator[Summary]:
        for record in self.shards[shard][max(sequence, 1) - 1 :]:
            yield record.summary()

    async def scan_lasts(self, shard: int) -> AsyncIterator[Summary]:
        lasts = {record.key: record for record in self.shards[shard]}
        for record in sorted(lasts.values(), key=lambda record: record.sequence):
            yield record.summary()

    async def tail(self, shard: int, sequence: int = 1) -> AsyncIterator[Logged]:
        async for record in self._grow(shard, sequence, lambda _: True):
            yield record

    async def follow(self, key: RunKey, sequence: int = 1) -> AsyncIterator[Logged]:
        async for record in self._grow(self._names.shard(key), sequence, lambda record: record.key == key):
            yield record

    async def _grow(self, shard: int, sequence: int, wanted: Callable[[Record], bool]) -> AsyncIterator[Logged]:
        position = max(sequence, 1) - 1
        records = self.shards[shard]
        while True:
            async with self._grown:
                await self._grown.wait_for(lambda: len(records) > position)  # noqa: B023 - awaited here and now
            while position < len(records):
                if wanted(records[position]):
                    yield records[position].logged()
                position += 1
