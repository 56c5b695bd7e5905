"""The log on JetStream: one stream per shard, one subject per run, one message per commit.

The expected last sequence of the subject guards every append. An acknowledgement that never came is not a
failure: the append is repeated with the same commit id, and if that conflicts, the id in the log tells whether
it was ours.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

import msgspec

from penstock.core.model.commit import EMPTY, Head, RunKey
from penstock.core.model.time import Instant
from penstock.fabric.errors import FabricError, LogConflict
from penstock.fabric.jetstream.connection import Connection
from penstock.fabric.jetstream.delivery import Delivery
from penstock.fabric.jetstream.feed import feed
from penstock.fabric.jetstream.reading import Stored, read_from, read_last, read_lasts, read_through
from penstock.fabric.jetstream.replies import CONFLICTS, Ack, Refused
from penstock.fabric.jetstream.together import once_more
from penstock.fabric.ports.blobs import BlobRef, Blobs
from penstock.fabric.ports.log import Append, Logged, Summary, check_chain, logged

EXPECTED = "Nats-Expected-Last-Subject-Sequence"
COMMIT = "Ps-Commit"
OPEN = "Ps-Open"
DUE = "Ps-Due"
BLOB = "Ps-Blob"
"""A commit too large for a message: its body is in this blob."""


class _Outgoing(msgspec.Struct, frozen=True):
    append: Append
    subject: str
    body: bytes
    headers: dict[str, str]
    head: Head
    operation: str


class JetStreamLog:
    def __init__(self, connection: Connection, blobs: Blobs, *, commit_max: int) -> None:
        self._connection = connection
        self._names = connection.names
        self._blobs = blobs
        self._commit_max = commit_max

    # -- writing

    async def append(self, append: Append) -> Head:
        outgoing = await self._prepare(append)
        return await self._connection.persist(lambda: self._once(outgoing))

    async def append_many(self, appends: Sequence[Append]) -> list[Head | FabricError]:
        sent = [await self._send(append) for append in appends]
        outcomes = [outcome if isinstance(outcome, FabricError) else await self._outcome(*outcome) for outcome in sent]
        return await once_more(appends, outcomes, self.append)

    async def _send(self, append: Append) -> tuple[_Outgoing, asyncio.Future[Ack]] | FabricError:
        try:
            outgoing = await self._prepare(append)
            return outgoing, await self._publish(outgoing)
        except FabricError as error:
            return error

    async def _outcome(self, outgoing: _Outgoing, future: asyncio.Future[Ack]) -> Head | FabricError:
        try:
            return await self._head(outgoing, future)
        except FabricError as error:
            return error

    async def _once(self, outgoing: _Outgoing) -> Head:
        return await self._head(outgoing, await self._publish(outgoing))

    async def _head(self, outgoing: _Outgoing, future: asyncio.Future[Ack]) -> Head:
        try:
            return _at(outgoing.head, (await future).seq)
        except Refused as refused:
            if refused.number in CONFLICTS:
                return await self._settle(outgoing, refused)
            raise refused.as_error() from refused

    async def _publish(self, outgoing: _Outgoing) -> asyncio.Future[Ack]:
        return await self._connection.send(outgoing.subject, outgoing.body, outgoing.headers, outgoing.operation)

    async def _prepare(self, append: Append) -> _Outgoing:
        key = append.key
        body, head = append.encode()
        headers = {EXPECTED: str(append.head.sequence), COMMIT: append.id, OPEN: str(append.open)}
        if append.due is not None:
            headers[DUE] = str(append.due)
        if append.trace:
            headers.update(append.trace)
        if len(body) > self._commit_max:
            reference = await self._blobs.put(key.tenant, body)
            headers[BLOB] = f"{reference.name}:{reference.size}"
            body = b""
        return _Outgoing(append, self._names.log(key), body, headers, head, "an append to the log")

    async def _settle(self, outgoing: _Outgoing, refused: Refused) -> Head:
        """The log is not where we thought: either this very commit got there before, or someone else's did."""
        append = outgoing.append
        conflict = LogConflict(run=append.key.run, expected=append.head.sequence)
        stream = self._names.log_stream(self._names.shard(append.key))
        last = await read_last(self._connection, stream, outgoing.subject, leader=True)
        if last is None or last.sequence <= append.head.sequence:
            raise refused.in_flight() or conflict
        first = append.head.sequence + 1
        for stored in await read_through(self._connection, stream, outgoing.subject, first, last.sequence):
            if stored.headers.get(COMMIT) == append.id:
                return _at(outgoing.head, stored.sequence)
        raise conflict

    # -- reading

    async def read(self, key: RunKey, after: Head = EMPTY) -> list[Logged]:
        stream = self._names.log_stream(self._names.shard(key))
        subject = self._names.log(key)
        stored = await read_from(self._connection, stream, subject, after.sequence)
        if after.sequence and (not stored or stored[0].sequence != after.sequence):
            # Gone, or read from a replica that is behind: the leader knows which.
            last = await read_last(self._connection, stream, subject, leader=True)
            if last is not None and last.sequence >= after.sequence:
                stored = await read_through(self._connection, stream, subject, after.sequence, last.sequence)
        commits = [await self._logged(key, entry.sequence, entry.headers, entry.data) for entry in stored]
        return check_chain(key, commits, after)

    async def last(self, key: RunKey) -> Summary | None:
        stream = self._names.log_stream(self._names.shard(key))
        stored = await read_last(self._connection, stream, self._names.log(key), leader=True)
        return None if stored is None else self._summary(stored)

    async def lasts(self, keys: Iterable[RunKey]) -> list[Summary]:
        by_shard: defaultdict[int, list[str]] = defaultdict(list)
        for key in keys:
            by_shard[self._names.shard(key)].append(self._names.log(key))
        found: list[Stored] = []
        for shard, subjects in by_shard.items():
            found += await read_lasts(self._connection, self._names.log_stream(shard), subjects)
        return [self._summary(stored) for stored in found]

    async def scan(self, shard: int, sequence: int = 1) -> AsyncIterator[Summary]:
        async for delivery in feed(self._connection, *self._all(shard), sequence, live=False, headers_only=True):
            yield self._summary(delivery)

    async def scan_lasts(self, shard: int) -> AsyncIterator[Summary]:
        async for delivery in feed(
            self._connection, *self._all(shard), live=False, last_per_subject=True, headers_only=True
        ):
            yield self._summary(delivery)

    async def tail(self, shard: int, sequence: int = 1) -> AsyncIterator[Logged]:
        async for delivery in feed(self._connection, *self._all(shard), sequence, live=True):
            key = self._names.run_of(delivery.subject)
            yield await self._logged(key, delivery.sequence, delivery.headers, delivery.data)

    async def follow(self, key: RunKey, sequence: int = 1) -> AsyncIterator[Logged]:
        stream = self._names.log_stream(self._names.shard(key))
        async for delivery in feed(self._connection, stream, self._names.log(key), sequence, live=True):
            yield await self._logged(key, delivery.sequence, delivery.headers, delivery.data)

    def _all(self, shard: int) -> tuple[str, str]:
        return self._names.log_stream(shard), self._names.all_of("log", shard)

    async def _logged(self, key: RunKey, sequence: int, headers: Mapping[str, str], body: bytes) -> Logged:
        if BLOB in headers:
            name, _, size = headers[BLOB].rpartition(":")
            body = await self._blobs.get(key.tenant, BlobRef(name, int(size)))
        return logged(key, headers.get(COMMIT, ""), sequence, body)

    def _summary(self, message: Stored | Delivery) -> Summary:
        headers = message.headers
        due = headers.get(DUE)
        return Summary(
            key=self._names.run_of(message.subject),
            sequence=message.sequence,
            id=headers.get(COMMIT, ""),
            open=int(headers.get(OPEN, 1)),
            due=None if due is None else Instant(int(due)),
        )


def _at(head: Head, sequence: int) -> Head:
    return Head(sequence, head.digest, head.events)
