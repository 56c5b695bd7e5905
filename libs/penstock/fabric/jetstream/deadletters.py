"""Dead letters in a stream, and the collector that buries what the server gave up on.

The server says once, in an advisory, that a message was delivered too often, and leaves it in the queue. The
advisories are themselves kept in a stream: the collector copies the message to the dead letters, removes it from
its queue, then acknowledges the advisory. Repeating any of it changes nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import msgspec

from penstock.core.model.time import Instant
from penstock.fabric.errors import FabricError, Undecodable
from penstock.fabric.jetstream.connection import Connection
from penstock.fabric.jetstream.consumers import NANOSECONDS, ConsumerSpec, create_consumer
from penstock.fabric.jetstream.delivery import Delivery
from penstock.fabric.jetstream.feed import feed
from penstock.fabric.jetstream.pull import Pull
from penstock.fabric.jetstream.purge import purge
from penstock.fabric.jetstream.reading import Stored, read_at, read_last
from penstock.fabric.jetstream.replies import CONFLICTS, MESSAGE_NOT_FOUND, Refused
from penstock.fabric.naming import token
from penstock.fabric.ports.deadletters import DeadLetter

GIVEN_UP = "delivered {deliveries} times without an answer"
_COLLECTOR = "collector"
_BATCH = 100
_PAUSE = 1.0

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(DeadLetter).decode


class JetStreamDeadLetters:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._names = connection.names

    async def bury(self, letter: DeadLetter) -> None:
        subject = self._names.dead_letter(letter.tenant, letter.queue, letter.id)
        headers = {"Nats-Expected-Last-Subject-Sequence": "0"}
        try:
            await self._connection.write(subject, _encode(letter), headers, "a dead letter")
        except Refused as refused:
            if refused.number not in CONFLICTS:  # a conflict: it is there already
                raise refused.as_error() from refused

    async def load(self, tenant: str, queue: str, letter: str) -> DeadLetter | None:
        subject = self._names.dead_letter(tenant, queue, letter)
        stored = await read_last(self._connection, self._names.dead_letters, subject, leader=True)
        return None if stored is None else _letter(stored)

    async def list(self, tenant: str, queue: str | None = None) -> AsyncIterator[DeadLetter]:
        of_queue = "*" if queue is None else token(queue, "queue")
        subject = f"{self._names.prefix}.dlq.{token(tenant, 'tenant')}.{of_queue}.*"
        async for delivery in feed(self._connection, self._names.dead_letters, subject, live=False):
            yield _letter(delivery)

    async def drop(self, tenant: str, queue: str, letter: str) -> bool:
        subject = self._names.dead_letter(tenant, queue, letter)
        return bool(await purge(self._connection, self._names.dead_letters, subject))


class Collector:
    """Buries what was delivered too often. Any number may run; they share the work."""

    def __init__(self, connection: Connection, letters: JetStreamDeadLetters, clock: Callable[[], Instant]) -> None:
        self._connection = connection
        self._names = connection.names
        self._letters = letters
        self._clock = clock

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            with contextlib.suppress(FabricError):  # the server is away, or lost the consumer
                await self._collect()
            await asyncio.sleep(_PAUSE)

    async def _collect(self) -> None:
        spec = ConsumerSpec(name=_COLLECTOR, durable_name=_COLLECTOR, ack_wait=30 * NANOSECONDS)
        try:
            await create_consumer(self._connection, self._names.advisories, spec)
        except Refused as refused:
            raise refused.as_error() from refused
        pull = Pull(self._connection, self._names.advisories, _COLLECTOR, window=2 * _BATCH)
        await pull.start()
        try:
            while advisories := await pull.take(_BATCH):
                for advisory in advisories:
                    await self._settle(advisory)
        finally:
            await pull.stop()

    async def _settle(self, advisory: Delivery) -> None:
        try:
            await self._bury(advisory.data)
        except msgspec.DecodeError:
            await advisory.term()
        except FabricError:
            await advisory.nak(_PAUSE)
        else:
            await advisory.ack()

    async def _bury(self, data: bytes) -> None:
        advisory = msgspec.json.decode(data, type=_GivenUp)
        stored = await read_at(self._connection, advisory.stream, advisory.stream_seq)
        if stored is None:
            return  # answered after all
        tenant, queue, identity = self._origin(advisory.stream, stored)
        letter = DeadLetter(
            tenant=tenant,
            queue=queue,
            id=identity,
            cause=GIVEN_UP.format(deliveries=advisory.deliveries),
            body=stored.data,
            at=self._clock(),
            deliveries=advisory.deliveries,
            headers=dict(stored.headers),
        )
        await self._letters.bury(letter)
        await self._remove(advisory)

    def _origin(self, stream: str, stored: Stored) -> tuple[str, str, str]:
        if stream == self._names.tasks:
            return self._names.queue_of(stored.subject)
        key = self._names.run_of(stored.subject)
        return key.tenant, "commands", f"{key.run}-{stored.sequence}"

    async def _remove(self, advisory: _GivenUp) -> None:
        request = {"seq": advisory.stream_seq, "no_erase": True}
        try:
            await self._connection.persist(
                lambda: self._connection.api(f"STREAM.MSG.DELETE.{advisory.stream}", request)
            )
        except Refused as refused:
            if refused.number not in {MESSAGE_NOT_FOUND, _SEQUENCE_NOT_FOUND}:
                raise refused.as_error() from refused


_SEQUENCE_NOT_FOUND = 10043


class _GivenUp(msgspec.Struct, frozen=True):
    """The part of the server's advisory that we need."""

    stream: str
    stream_seq: int
    deliveries: int


def _letter(message: Stored | Delivery) -> DeadLetter:
    try:
        return _decode(message.data)
    except msgspec.DecodeError as error:
        raise Undecodable(what=f"the dead letter on {message.subject}", reason=str(error)) from error
