"""A key-value bucket, with what the library's own leaves out: compare-and-set with a time to live, and keys
that expired being simply absent.

nats-py gives an expired key as an entry without a value and then refuses to create it again until the marker
is gone; here a marker is an absent key whose revision can be written over.
"""

from __future__ import annotations

import math

import msgspec

from penstock.fabric.jetstream.connection import Connection, Headers
from penstock.fabric.jetstream.reading import Stored, read_last, read_lasts
from penstock.fabric.jetstream.replies import CONFLICTS, Refused
from penstock.kit.ids import new_id

_EXPECTED = "Nats-Expected-Last-Subject-Sequence"
_OPERATION = "KV-Operation"
_MARKER = "Nats-Marker-Reason"
_WRITE = "Ps-Write"


class Entry(msgspec.Struct, frozen=True):
    """A key's value and revision. An absent key has value None, and the revision its next write must follow."""

    key: str
    value: bytes | None
    revision: int


class Bucket:
    def __init__(self, connection: Connection, name: str) -> None:
        self.name = name
        self.stream = f"KV_{name}"
        self._connection = connection
        self._prefix = f"$KV.{name}."

    async def load(self, key: str, *, leader: bool = True) -> Entry:
        stored = await read_last(self._connection, self.stream, self._prefix + key, leader=leader)
        return self._entry(key, stored)

    async def load_all(self, pattern: str = ">") -> list[Entry]:
        """Every present key that matches; at most 1,024 of them."""
        found = await read_lasts(self._connection, self.stream, [self._prefix + pattern])
        entries = (self._entry(stored.subject.removeprefix(self._prefix), stored) for stored in found)
        return [entry for entry in entries if entry.value is not None]

    async def save(self, key: str, value: bytes, *, follows: int | None = None, ttl: float | None = None) -> int | None:
        """Write, and give the new revision; with `follows`, None unless the key is still at that revision."""
        headers: Headers = {_WRITE: new_id()}
        if follows is not None:
            headers[_EXPECTED] = str(follows)
        if ttl is not None:
            headers["Nats-TTL"] = f"{max(1, math.ceil(ttl))}s"
        return await self._connection.persist(lambda: self._save_once(key, value, headers))

    async def delete(self, key: str) -> None:
        headers = {_OPERATION: "PURGE", "Nats-Rollup": "sub"}
        try:
            await self._connection.write(self._prefix + key, b"", headers, f"a delete in {self.name}")
        except Refused as refused:
            raise refused.as_error() from refused

    async def _save_once(self, key: str, value: bytes, headers: Headers) -> int | None:
        try:
            future = await self._connection.send(self._prefix + key, value, headers, f"a write to {self.name}")
            return (await future).seq
        except Refused as refused:
            if refused.number not in CONFLICTS:
                raise refused.as_error() from refused
            # A write that was repeated may have met its own first try.
            stored = await read_last(self._connection, self.stream, self._prefix + key, leader=True)
            if stored is not None and stored.headers.get(_WRITE) == headers[_WRITE]:
                return stored.sequence
            if (stored.sequence if stored else 0) == int(headers[_EXPECTED]) and (waiting := refused.in_flight()):
                raise waiting from refused
            return None

    def _entry(self, key: str, stored: Stored | None) -> Entry:
        if stored is None:
            return Entry(key, None, 0)
        absent = _OPERATION in stored.headers or _MARKER in stored.headers
        return Entry(key, None if absent else stored.data, stored.sequence)
