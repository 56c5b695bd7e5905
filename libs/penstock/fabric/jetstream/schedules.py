"""Schedules as JetStream keeps them: a message that the server moves to the shard's `fired` subject when due."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from penstock.core.model.commit import RunKey
from penstock.core.model.time import Instant
from penstock.fabric.jetstream.connection import Connection
from penstock.fabric.jetstream.purge import purge
from penstock.fabric.jetstream.replies import Refused
from penstock.fabric.ports.schedules import Timer, encode_timer

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class JetStreamSchedules:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._names = connection.names

    async def set(self, timer: Timer) -> None:
        headers = {
            "Nats-Schedule": f"@at {rfc3339(timer.due)}",
            "Nats-Schedule-Target": self._names.fired(timer.key),
        }
        subject = self._names.timer(timer.key, timer.id)
        try:
            # One schedule per subject, the last one wins: repeating the write is harmless.
            await self._connection.write(subject, encode_timer(timer), headers, "a timer")
        except Refused as refused:
            raise refused.as_error() from refused

    async def clear(self, key: RunKey, timer: str) -> None:
        stream = self._names.timer_stream(self._names.shard(key))
        await purge(self._connection, stream, self._names.timer(key, timer))


def rfc3339(instant: Instant) -> str:
    return (_EPOCH + timedelta(microseconds=instant)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
