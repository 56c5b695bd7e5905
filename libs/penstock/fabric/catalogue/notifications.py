"""An application's events in the order they were recorded, and the positions of those who process them.

An event's notification id is its sequence in the stream, so order and ids need no bookkeeping.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eventsourcing.persistence import (
    ApplicationRecorder,
    Notification,
    ProcessRecorder,
    StoredEvent,
    Subscription,
    Tracking,
)

from penstock.fabric.catalogue.append import Outgoing
from penstock.fabric.catalogue.events import JetStreamAggregateRecorder
from penstock.fabric.catalogue.record import Record, decode
from penstock.fabric.catalogue.subscription import JetStreamSubscription
from penstock.fabric.jetstream.connection import Connection
from penstock.fabric.jetstream.reading import read_last, read_through

_PAGE = 500


class JetStreamApplicationRecorder(JetStreamAggregateRecorder, ApplicationRecorder):
    def insert_events(self, stored_events: Sequence[StoredEvent], **_: Any) -> Sequence[int] | None:  # noqa: ANN401 - the library's
        return self._link.call(lambda connection: self._append(connection, self._outgoing(stored_events)))

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[Notification]:
        first = 1 if start is None else start + (not inclusive_of_start)
        return self._link.call(
            lambda connection: self._notifications(connection, first, limit, stop, frozenset(topics))
        )

    def max_notification_id(self) -> int | None:
        return self._link.call(self._last_id)

    def subscribe(self, gt: int | None = None, topics: Sequence[str] = ()) -> Subscription[ApplicationRecorder]:
        return JetStreamSubscription(self, self._link, self._subjects.all_events, gt=gt, topics=topics)

    async def _last_id(self, connection: Connection) -> int | None:
        last = await read_last(connection, self._stream, self._subjects.all_events, leader=True)
        return None if last is None else last.sequence

    async def _notifications(
        self, connection: Connection, first: int, limit: int, stop: int | None, topics: frozenset[str]
    ) -> list[Notification]:
        last = await self._last_id(connection) or 0
        until = last if stop is None else min(stop, last)
        page = max(limit, _PAGE) if topics else limit
        found: list[Notification] = []
        while first <= until and len(found) < limit:
            read = await read_through(connection, self._stream, self._subjects.all_events, first, last, limit=page)
            notifications = (
                decode(stored.subject, stored.data).notification(stored.sequence)
                for stored in read
                if stored.sequence <= until
            )
            found += [each for each in notifications if not topics or each.topic in topics]
            first = read[-1].sequence + 1
        return found[:limit]


class JetStreamProcessRecorder(JetStreamApplicationRecorder, ProcessRecorder):
    """Events and the position of the event that caused them, in one batch: what was processed stays processed."""

    def insert_events(
        self,
        stored_events: Sequence[StoredEvent],
        *,
        tracking: Tracking | None = None,
        **_: Any,  # noqa: ANN401 - the library's
    ) -> Sequence[int] | None:
        ids = self._link.call(lambda connection: self._append(connection, self._with(stored_events, tracking)))
        return ids[: len(stored_events)]

    def insert_tracking(self, tracking: Tracking) -> None:
        self.insert_events([], tracking=tracking)

    def max_tracking_id(self, application_name: str) -> int | None:
        return self._link.call(lambda connection: self._last_tracked(connection, application_name))

    def _with(self, events: Sequence[StoredEvent], tracking: Tracking | None) -> list[Outgoing]:
        records = self._outgoing(events)
        if tracking is not None:
            upstream = tracking.application_name
            position = Record(upstream, tracking.notification_id)
            records.append(Outgoing(self._subjects.tracking(upstream), position))
        return records

    async def _last_tracked(self, connection: Connection, upstream: str) -> int | None:
        subject = self._subjects.tracking(upstream)
        last = await read_last(connection, self._stream, subject, leader=True)
        return None if last is None else decode(subject, last.data).version
