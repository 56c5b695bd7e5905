"""Notifications as they come: the link's loop follows the stream, and the reader's thread takes what has arrived.

The reader's pace is the consumer's: at most a page waits here. A server that goes away ends nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import aclosing

from eventsourcing.persistence import ApplicationRecorder, Notification, Subscription

from penstock.fabric.catalogue.errors import CatalogueClosed, in_library_words
from penstock.fabric.catalogue.link import Link
from penstock.fabric.catalogue.record import decode
from penstock.fabric.errors import Unavailable
from penstock.fabric.jetstream.connection import Connection
from penstock.fabric.jetstream.delivery import Delivery
from penstock.fabric.jetstream.feed import feed

_PAGE = 500


class JetStreamSubscription(Subscription[ApplicationRecorder]):
    def __init__(
        self,
        recorder: ApplicationRecorder,
        link: Link,
        subject: str,
        *,
        gt: int | None = None,
        topics: Sequence[str] = (),
    ) -> None:
        super().__init__(recorder, gt, topics)
        self._link = link
        self._subject = subject
        self._wanted = frozenset(topics)
        self._taken: deque[Notification] = deque()
        self._waiting: deque[Notification] = deque()
        self._arrived = asyncio.Event()
        self._room = asyncio.Event()
        self._error: Exception | None = None
        self._taking: Future[list[Notification]] | None = None
        with in_library_words():
            self._reading = link.start(self._read)

    def stop(self) -> None:
        super().stop()
        self._reading.cancel()
        if self._taking is not None:
            self._taking.cancel()

    def __next__(self) -> Notification:
        if not self._taken and not self._has_been_stopped:
            self._taken.extend(self._next_page())
        if self._has_been_stopped:
            raise StopIteration
        return self._taken.popleft()

    def _next_page(self) -> list[Notification]:
        with in_library_words():
            try:
                self._taking = self._link.start(self._take)
                if self._has_been_stopped:  # before there was anything to cancel
                    self._taking.cancel()
                return self._taking.result()
            except CancelledError as error:
                if self._has_been_stopped:
                    return []
                raise CatalogueClosed(application=self._link.application) from error

    # -- on the loop

    async def _take(self, _: Connection) -> list[Notification]:
        while not self._waiting:
            if self._error is not None:
                raise self._error
            self._arrived.clear()
            await self._arrived.wait()
        page = list(self._waiting)
        self._waiting.clear()
        self._room.set()
        return page

    async def _read(self, connection: Connection) -> None:
        try:
            await self._follow(connection)
        except Exception as error:  # noqa: BLE001 - it belongs to whoever takes
            self._error = error
            self._arrived.set()

    async def _follow(self, connection: Connection) -> None:
        following = (self._last_notification_id or 0) + 1
        while True:
            try:
                async with aclosing(self._feed(connection, following)) as deliveries:
                    async for delivery in deliveries:
                        following = delivery.sequence + 1
                        await self._offer(delivery)
            except Unavailable:
                if connection.client.is_closed:
                    raise

    def _feed(self, connection: Connection, first: int) -> AsyncGenerator[Delivery, None]:
        return feed(connection, self._link.names.catalogue, self._subject, first, live=True)

    async def _offer(self, delivery: Delivery) -> None:
        notification = decode(delivery.subject, delivery.data).notification(delivery.sequence)
        if self._wanted and notification.topic not in self._wanted:
            return
        self._waiting.append(notification)
        self._arrived.set()
        if len(self._waiting) >= _PAGE:
            self._room.clear()
            await self._room.wait()
