"""A message lent to us by a consumer: acknowledge it, hand it back, or keep it longer."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

import msgspec
from nats.aio.msg import Msg

from penstock.fabric.errors import FabricError
from penstock.fabric.jetstream.connection import Connection

_DELIVERED, _SEQUENCE, _PENDING = -5, -4, -1
_ACK, _TERM, _PROGRESS = b"+ACK", b"+TERM", b"+WPI"


class Delivery:
    def __init__(self, connection: Connection, message: Msg) -> None:
        self._connection = connection
        self._message = message

    @property
    def subject(self) -> str:
        return self._message.subject

    @property
    def data(self) -> bytes:
        return self._message.data

    @property
    def headers(self) -> Mapping[str, str]:
        return self._message.headers or {}

    @cached_property
    def _position(self) -> list[str]:
        return self._message.reply.split(".")

    @property
    def sequence(self) -> int:
        """Its place in the stream."""
        return int(self._position[_SEQUENCE])

    @property
    def deliveries(self) -> int:
        """How often it was handed out, this time included."""
        return int(self._position[_DELIVERED])

    @property
    def pending(self) -> int:
        """How many the consumer has yet to deliver after this one."""
        return int(self._position[_PENDING])

    async def ack(self) -> None:
        await self._connection.tell(self._message.reply, _ACK)

    async def ack_confirmed(self) -> None:
        """Wait until the server has taken it: for work that must not come back."""
        await self._connection.persist(lambda: self._connection.request(self._message.reply, _ACK))

    async def nak(self, delay: float = 0.0) -> None:
        body = b"-NAK " + msgspec.json.encode({"delay": int(delay * 1e9)}) if delay else b"-NAK"
        await self._connection.tell(self._message.reply, body)

    async def term(self) -> None:
        """Never again."""
        await self._connection.tell(self._message.reply, _TERM)

    async def extend(self) -> None:
        await self._connection.tell(self._message.reply, _PROGRESS)


class Leases:
    """Extends the lease of everything in hand, with one ticker for all."""

    def __init__(self, ack_wait: float) -> None:
        self._every = ack_wait / 3
        self._held: set[Delivery] = set()
        self._ticker: asyncio.Task[None] | None = None
        self._closing = False

    @contextlib.contextmanager
    def hold(self, *deliveries: Delivery) -> Iterator[None]:
        if self._ticker is None:
            self._ticker = asyncio.create_task(self._extend(), name="leases")
        self._held.update(deliveries)
        try:
            yield
        finally:
            self._held.difference_update(deliveries)
            self._rest()

    def close(self) -> None:
        """What is in hand is kept until it is done; then the ticker rests."""
        self._closing = True
        self._rest()

    def _rest(self) -> None:
        if self._closing and not self._held and self._ticker is not None:
            self._ticker.cancel()
            self._ticker = None

    async def _extend(self) -> None:
        while True:
            await asyncio.sleep(self._every)
            for delivery in tuple(self._held):
                with contextlib.suppress(FabricError):  # the server is away: so is its clock for this lease
                    await delivery.extend()


async def ack_all(deliveries: Iterable[Delivery]) -> None:
    for delivery in deliveries:
        await delivery.ack()
