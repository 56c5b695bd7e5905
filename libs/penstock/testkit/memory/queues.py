"""A work queue in memory: what is acknowledged is gone, what is not comes again."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import msgspec

from penstock.fabric.errors import ConsumerGone
from penstock.fabric.ports.delivery import Received
from penstock.testkit.clock import VirtualClock


class Message(msgspec.Struct, frozen=True):
    sequence: int
    subject: str
    data: bytes
    headers: Mapping[str, str]


GivenUp = Callable[[Message, int], None]
"""Told of a message that was delivered as often as allowed, and how often that was."""


class MemoryQueue:
    """Messages in order, each for the one consumer whose prefix it matches."""

    def __init__(self, clock: VirtualClock, *, one_per_subject: bool = False, dedupe: float = 120.0) -> None:
        self.clock = clock
        self.messages: dict[int, Message] = {}
        self._one_per_subject = one_per_subject
        self._dedupe = dedupe
        self._subjects: dict[str, int] = {}
        self._ids: dict[str, float] = {}
        self._sequence = 0
        self._consumers: dict[str, MemoryConsumer] = {}

    def publish(self, subject: str, data: bytes, headers: Mapping[str, str] | None = None, id: str = "") -> bool:  # noqa: A002 - the message's
        """False if it was there already: by id, or because its subject is taken."""
        now = self.clock.monotonic()
        if id and self._ids.get(id, now) > now:
            return False
        if self._one_per_subject and subject in self._subjects:
            return False
        if id:
            self._ids[id] = now + self._dedupe
        self._sequence += 1
        message = self.messages[self._sequence] = Message(self._sequence, subject, data, headers or {})
        self._subjects[subject] = message.sequence
        for consumer in self._consumers.values():
            consumer.offer(message)
        return True

    def find(self, subject: str) -> Message | None:
        return self.messages.get(self._subjects.get(subject, 0))

    def purge(self, subject: str) -> bool:
        message = self.find(subject)
        if message is not None:
            self.remove(message)
        return message is not None

    def remove(self, message: Message) -> None:
        if self.messages.pop(message.sequence, None) and self._subjects.get(message.subject) == message.sequence:
            del self._subjects[message.subject]

    def consume(
        self, name: str, prefix: str = "", *, lease: float, max_deliver: int = 0, given_up: GivenUp | None = None
    ) -> MemoryConsumer:
        """The consumer of that name, made if need be."""
        consumer = self._consumers.get(name)
        if consumer is None:
            consumer = self._consumers[name] = MemoryConsumer(self, name, prefix, lease, max_deliver, given_up)
            for message in tuple(self.messages.values()):
                consumer.offer(message)
        return consumer

    def drop_consumer(self, name: str) -> None:
        consumer = self._consumers.pop(name, None)
        if consumer is not None:
            consumer.close()

    def consumers(self) -> list[str]:
        return list(self._consumers)


class MemoryConsumer:
    def __init__(
        self, queue: MemoryQueue, name: str, prefix: str, lease: float, max_deliver: int, given_up: GivenUp | None
    ) -> None:
        self.queue = queue
        self.name = name
        self.lease = lease
        self._prefix = prefix
        self._max_deliver = max_deliver
        self._given_up = given_up
        self._ready: list[int] = []
        self._deliveries: dict[int, int] = {}
        self._expiry: dict[int, float] = {}
        self._arrived = asyncio.Event()
        self.gone = False

    def offer(self, message: Message) -> None:
        if message.subject.startswith(self._prefix):
            self._release(message)

    async def take(self, limit: int, inbox: MemoryInbox) -> list[MemoryDelivery]:
        while not (inbox.stopped or self.gone):
            taken = [delivery for _ in range(limit) if (delivery := self._next(inbox))]
            if taken:
                return taken
            self._arrived.clear()
            await self._arrived.wait()
        if self.gone:
            raise ConsumerGone(consumer=self.name, stream="memory")
        return []

    def wake(self) -> None:
        self._arrived.set()

    def close(self) -> None:
        self.gone = True
        self.wake()

    def extend(self, message: Message) -> None:
        if message.sequence in self._expiry and not self.gone:
            self._lend(message)

    def settle(self, message: Message) -> None:
        """An ack is not fenced by who holds the message, only by the consumer still being there."""
        if not self.gone:
            self._expiry.pop(message.sequence, None)
            self.queue.remove(message)

    def hand_back(self, message: Message, delay: float = 0.0) -> None:
        if self._expiry.pop(message.sequence, None) is None or self.gone:
            return
        if delay:
            self.queue.clock.call_later(delay, lambda: self._release(message))
        else:
            self._release(message)

    def _next(self, inbox: MemoryInbox) -> MemoryDelivery | None:
        while self._ready:
            message = self.queue.messages.get(heapq.heappop(self._ready))
            if message is None:
                continue  # purged, or acknowledged late
            count = self._deliveries[message.sequence] = self._deliveries.get(message.sequence, 0) + 1
            self._lend(message)
            return MemoryDelivery(inbox, self, message, count)
        return None

    def _lend(self, message: Message) -> None:
        clock = self.queue.clock
        expiry = self._expiry[message.sequence] = clock.monotonic() + self.lease

        def expire() -> None:
            if self._expiry.get(message.sequence) == expiry:
                self.hand_back(message)

        clock.call_later(self.lease, expire)

    def _release(self, message: Message) -> None:
        if message.sequence not in self.queue.messages:
            return
        count = self._deliveries.get(message.sequence, 0)
        if self._max_deliver and count >= self._max_deliver:
            if self._given_up is not None:
                self._given_up(message, count)
        else:
            heapq.heappush(self._ready, message.sequence)
            self.wake()


class MemoryInbox:
    """One taker among those who share a consumer."""

    def __init__(self, consumer: MemoryConsumer) -> None:
        self._consumer = consumer
        self._held: set[Received] = set()
        self.stopped = False

    async def take(self, limit: int) -> list[MemoryDelivery]:
        return await self._consumer.take(limit, self)

    async def stop(self) -> None:
        self.stopped = True
        self._consumer.wake()

    @contextmanager
    def hold(self, *deliveries: Received) -> Iterator[None]:
        self._held.update(deliveries)
        self._keep_alive()
        try:
            yield
        finally:
            self._held.difference_update(deliveries)

    def _keep_alive(self) -> None:
        for delivery in self._held:
            if isinstance(delivery, MemoryDelivery):
                delivery.prolong()
        if self._held:
            self._consumer.queue.clock.call_later(self._consumer.lease / 3, self._keep_alive)


class MemoryDelivery:
    def __init__(self, inbox: MemoryInbox, consumer: MemoryConsumer, message: Message, deliveries: int) -> None:
        self._inbox = inbox
        self._consumer = consumer
        self._message = message
        self.deliveries = deliveries
        self.subject = message.subject
        self.data = message.data
        self.headers = message.headers
        self.sequence = message.sequence

    async def ack(self) -> None:
        self._consumer.settle(self._message)

    async def ack_confirmed(self) -> None:
        self._consumer.settle(self._message)

    async def nak(self, delay: float = 0.0) -> None:
        self._consumer.hand_back(self._message, delay)

    async def term(self) -> None:
        self._consumer.settle(self._message)

    async def extend(self) -> None:
        self.prolong()

    def prolong(self) -> None:
        self._consumer.extend(self._message)
