"""Owners in a bucket; the fence is a consumer named after the epoch.

A work queue refuses a second consumer over the same subjects. Deleting the old owner's makes its pulls fail and
its acks inert, and everything it had not acknowledged is delivered to the new one, in order. Only consumers of
*earlier* epochs are deleted: an owner that slept between its claim and its fence finds a later one and yields.
"""

from __future__ import annotations

import math
from typing import TypeVar

import msgspec

from penstock.fabric.errors import LeaseLost, Undecodable
from penstock.fabric.jetstream.bucket import Bucket, Entry
from penstock.fabric.jetstream.connection import Connection
from penstock.fabric.jetstream.consumers import (
    NANOSECONDS,
    ConsumerSpec,
    consumer_names,
    create_consumer,
    delete_consumer,
)
from penstock.fabric.jetstream.pull import Pull
from penstock.fabric.jetstream.replies import (
    OVERLAPPING_WORK_QUEUE_CONSUMER,
    SECOND_WORK_QUEUE_CONSUMER,
    Refusal,
    Refused,
)
from penstock.fabric.naming import token
from penstock.fabric.ports.owners import Inboxes, Member, Tenure

_CONSUMER = "own_"
_ACK_WAIT = 300
"""Long: what a living owner holds must not come twice, and a dead one's is freed by the fence, not by time."""
_MAX_PENDING = 100_000
_FENCE_TRIES = 10
_TAKEN = frozenset({SECOND_WORK_QUEUE_CONSUMER, OVERLAPPING_WORK_QUEUE_CONSUMER})


class _Record(msgspec.Struct, frozen=True):
    owner: Member | None
    epoch: int


T = TypeVar("T")
_encode = msgspec.json.Encoder().encode


class JetStreamOwners:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._names = connection.names
        self._bucket = Bucket(connection, connection.names.owners)

    async def announce(self, member: Member, ttl: float) -> None:
        await self._bucket.save(_member_key(member), _encode(member), ttl=math.floor(ttl))

    async def withdraw(self, member: Member) -> None:
        await self._bucket.delete(_member_key(member))

    async def members(self) -> list[Member]:
        return [_decode(entry, Member) for entry in await self._bucket.load_all("member.*")]

    async def tenures(self) -> dict[int, Tenure]:
        found = {}
        for entry in await self._bucket.load_all("shard.*"):
            record = _decode(entry, _Record)
            found[_shard_of(entry)] = Tenure(record.owner, record.epoch, entry.revision)
        return found

    async def claim(self, shard: int, tenure: Tenure) -> bool:
        record = _encode(_Record(tenure.owner, tenure.epoch))
        return await self._bucket.save(f"shard.{shard}", record, follows=tenure.revision) is not None

    async def fence(self, shard: int, epoch: int) -> Inboxes:
        commands, timers = self._names.command_stream(shard), self._names.timer_stream(shard)
        await self._replace(shard, commands, epoch, None)
        await self._replace(shard, timers, epoch, [self._names.all_of("fired", shard)])
        pulls = (
            Pull(self._connection, commands, _name(epoch), window=2048),
            Pull(self._connection, timers, _name(epoch)),
        )
        for pull in pulls:
            await pull.start()
        return Inboxes(*pulls)

    async def load_mark(self, shard: int) -> int:
        entry = await self._bucket.load(f"mark.{shard}")
        return _decode(entry, int) if entry.value is not None else 1

    async def save_mark(self, shard: int, sequence: int) -> None:
        while True:
            entry = await self._bucket.load(f"mark.{shard}")
            if entry.value is not None and _decode(entry, int) >= sequence:
                return
            if await self._bucket.save(f"mark.{shard}", _encode(sequence), follows=entry.revision) is not None:
                return

    async def _replace(self, shard: int, stream: str, epoch: int, filters: list[str] | None) -> None:
        spec = ConsumerSpec(
            name=_name(epoch),
            durable_name=_name(epoch),
            filter_subjects=filters,
            ack_wait=_ACK_WAIT * NANOSECONDS,
            max_ack_pending=_MAX_PENDING,
        )
        blocked = Refused(Refusal(), stream)
        for _ in range(_FENCE_TRIES):
            for name in await consumer_names(self._connection, stream):
                other = _epoch(name)
                if other is not None and other > epoch:
                    raise LeaseLost(shard=shard, epoch=other)
                if other is not None and other < epoch:
                    await delete_consumer(self._connection, stream, name)
            try:
                await create_consumer(self._connection, stream, spec)
            except Refused as refused:
                if refused.number not in _TAKEN:
                    raise refused.as_error() from refused
                blocked = refused  # someone of another epoch was quicker: look again who
            else:
                return
        # Not one of ours: a consumer that somebody else made stands on the work queue.
        raise blocked.as_error()


def _name(epoch: int) -> str:
    return f"{_CONSUMER}{epoch}"


def _epoch(consumer: str) -> int | None:
    number = consumer.removeprefix(_CONSUMER)
    return int(number) if number != consumer and number.isdigit() else None


def _member_key(member: Member) -> str:
    return f"member.{token(member.name, 'member')}"


def _shard_of(entry: Entry) -> int:
    return int(entry.key.removeprefix("shard."))


def _decode(entry: Entry, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(entry.value or b"", type=kind)
    except msgspec.DecodeError as error:
        raise Undecodable(what=f"key {entry.key} of the owners bucket", reason=str(error)) from error
