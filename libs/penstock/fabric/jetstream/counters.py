"""Counters on JetStream's own: the server adds, and a message id per operation keeps it from adding twice.

Ids live only as long as their messages, so every increment is kept for the whole window, and `trim` removes
what is older. The bucket can be read by any key-value client; its values are `{"val": "<number>"}`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import starmap
from typing import Any

import msgspec

from penstock.fabric.errors import Undecodable
from penstock.fabric.jetstream.connection import Connection, Headers
from penstock.fabric.jetstream.feed import feed
from penstock.fabric.jetstream.purge import purge
from penstock.fabric.jetstream.reading import read_last, read_lasts
from penstock.fabric.jetstream.replies import MESSAGE_NOT_FOUND, Ack, Refused
from penstock.fabric.jetstream.together import together
from penstock.fabric.naming import check_id, token
from penstock.fabric.ports.counters import CounterKey, Divergence, Increment, check_increment, divergence

_AT_ONCE = 500
_PURGES_AT_ONCE = 32


class _Value(msgspec.Struct, frozen=True):
    val: str


_decoder = msgspec.json.Decoder(_Value)


class JetStreamCounters:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stream = f"KV_{connection.names.counters}"
        self._prefix = f"$KV.{connection.names.counters}."

    async def add(self, key: CounterKey, amount: int, *, operation: str) -> int:
        ack = await self._increase(*self._message(Increment(key, amount, operation)))
        return await self.read(key) if ack.val is None else int(ack.val)

    async def add_many(self, increments: Sequence[Increment]) -> list[int]:
        messages = [self._message(increment) for increment in increments]  # all are checked before one is sent
        acks = await together(starmap(self._increase, messages), _AT_ONCE)
        # A repeated increment is acknowledged without a value.
        repeated = {increment.key for increment, ack in zip(increments, acks, strict=True) if ack.val is None}
        values = await self.read_many(repeated)
        return [
            values[increment.key] if ack.val is None else int(ack.val)
            for increment, ack in zip(increments, acks, strict=True)
        ]

    async def read(self, key: CounterKey) -> int:
        subject = self._subject(key)
        stored = await read_last(self._connection, self._stream, subject, leader=True)
        return 0 if stored is None else _decode(stored.data, subject)

    async def read_many(self, keys: Iterable[CounterKey]) -> dict[CounterKey, int]:
        subjects = {self._subject(key): key for key in keys}
        values = dict.fromkeys(subjects.values(), 0)
        for stored in await read_lasts(self._connection, self._stream, subjects):
            values[subjects[stored.subject]] = _decode(stored.data, stored.subject)
        return values

    async def watch(self, key: CounterKey) -> AsyncIterator[int]:
        subject = self._subject(key)
        async for delivery in feed(self._connection, self._stream, subject, live=True, last_per_subject=True):
            yield _decode(delivery.data, subject)

    async def compare(self, key: CounterKey, expected: int) -> Divergence | None:
        return divergence(key, expected, await self.read(key))

    async def trim(self) -> int:
        info = await self._info()
        window = timedelta(microseconds=info["config"]["duplicate_window"] // 1_000)
        # By the server's clock, which is the one that ids age by.
        horizon = await self._first_since(datetime.fromisoformat(info["ts"]) - window)
        if horizon is None:
            horizon = info["state"]["last_seq"] + 1
        if horizon <= info["state"]["first_seq"]:
            return 0
        lasts = await read_lasts(self._connection, self._stream, await self._subjects_with_history())
        purges = (
            purge(self._connection, self._stream, last.subject, below=min(last.sequence, horizon)) for last in lasts
        )
        return sum(await together(purges, _PURGES_AT_ONCE))

    def _subject(self, key: CounterKey) -> str:
        return f"{self._prefix}{token(key.tenant, 'tenant')}.{check_id(key.name, 'counter')}"

    def _message(self, increment: Increment) -> tuple[str, Headers]:
        check_increment(increment)
        subject = self._subject(increment.key)
        # The server remembers ids per stream; with the subject in it, an operation may touch many counters.
        identity = sha256(f"{subject}\0{increment.operation}".encode()).hexdigest()[:32]
        return subject, {"Nats-Incr": f"{increment.amount:+d}", "Nats-Msg-Id": identity}

    async def _increase(self, subject: str, headers: Headers) -> Ack:
        try:
            return await self._connection.write(subject, b"", headers, "an increment")
        except Refused as refused:
            raise refused.as_error() from refused

    async def _first_since(self, moment: datetime) -> int | None:
        request = {"next_by_subj": f"{self._prefix}>", "start_time": moment.isoformat()}
        try:
            found = await self._ask(f"STREAM.MSG.GET.{self._stream}", request)
        except Refused as refused:
            if refused.number == MESSAGE_NOT_FOUND:
                return None
            raise refused.as_error() from refused
        sequence: int = found["message"]["seq"]
        return sequence

    async def _subjects_with_history(self) -> list[str]:
        found: list[str] = []
        pattern, seen = f"{self._prefix}>", 0
        while page := (await self._info({"subjects_filter": pattern, "offset": seen}))["state"].get("subjects"):
            found += (subject for subject, messages in page.items() if messages > 1)
            seen += len(page)
        return found

    async def _info(self, request: dict[str, Any] | None = None) -> dict[str, Any]:
        try:
            return await self._ask(f"STREAM.INFO.{self._stream}", request)
        except Refused as refused:
            raise refused.as_error() from refused

    async def _ask(self, api: str, request: dict[str, Any] | None) -> dict[str, Any]:
        return await self._connection.persist(lambda: self._connection.api(api, request))


def _decode(data: bytes, subject: str) -> int:
    try:
        return int(_decoder.decode(data).val)
    except (msgspec.DecodeError, ValueError) as error:
        raise Undecodable(what=f"the counter {subject}", reason=str(error)) from error
