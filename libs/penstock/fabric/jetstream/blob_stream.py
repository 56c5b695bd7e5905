"""Blobs in a stream: one message each or, where that is too small, ranges of bytes and then a manifest.

    ps.blob.<tenant>.<digest>                  the bytes, or the manifest
    ps.blob.<tenant>.<digest>.<start>-<end>    a range

A range's subject says which bytes it holds, so a broken-off put leaves nothing that could be mistaken for
anything else: the next one finds the ranges that are there and writes the rest. The manifest comes last:
where it is, all of the blob is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec

from penstock.fabric.errors import BlobCorrupt, Unavailable, Undecodable
from penstock.fabric.jetstream.connection import Connection, Headers
from penstock.fabric.jetstream.purge import purge
from penstock.fabric.jetstream.reading import Stored, read_last
from penstock.fabric.jetstream.replies import (
    WRONG_LAST_SEQUENCE,
    WRONG_LAST_SEQUENCE_IN_FLIGHT,
    Refused,
)
from penstock.fabric.jetstream.together import together
from penstock.fabric.ports.blobs import BlobRef

_RANGE = 512 * 1024
_AT_ONCE = 8
_FORM, _RANGES = "Ps-Blob", "ranges"
_CREATE = {"Nats-Expected-Last-Subject-Sequence": "0"}


class Manifest(msgspec.Struct, frozen=True):
    """Stands for a blob that is stored in ranges of `step` bytes."""

    size: int
    step: Annotated[int, msgspec.Meta(ge=1)]

    def ranges(self) -> Iterator[tuple[int, int]]:
        for start in range(0, self.size, self.step):
            yield start, min(start + self.step, self.size)


class StreamBlobs:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stream = connection.names.blobs

    async def save(self, tenant: str, ref: BlobRef, data: bytes) -> None:
        if ref.size <= self._connection.message_max:
            await self._create(self._subject(tenant, ref), data, _CREATE)
        elif not await self.exists(tenant, ref):
            await self._save_ranges(self._subject(tenant, ref), data)

    async def load(self, tenant: str, ref: BlobRef) -> bytes | None:
        """What is stored under the name, unverified."""
        subject = self._subject(tenant, ref)
        stored = await self._read(subject)
        if stored is None:
            return None
        if _FORM not in stored.headers:
            return stored.data
        try:
            manifest = msgspec.json.decode(stored.data, type=Manifest)
        except msgspec.DecodeError as error:
            raise Undecodable(what=f"the manifest of blob {ref.digest}", reason=str(error)) from error
        if manifest.size != ref.size:
            raise BlobCorrupt(digest=ref.digest)
        found = await together((self._read(f"{subject}.{start}-{end}") for start, end in manifest.ranges()), _AT_ONCE)
        if None in found:
            raise BlobCorrupt(digest=ref.digest)
        return b"".join(part.data for part in found if part is not None)

    async def exists(self, tenant: str, ref: BlobRef) -> bool:
        subject = self._subject(tenant, ref)
        request = {"subjects_filter": subject}
        try:
            info = await self._connection.persist(lambda: self._connection.api(f"STREAM.INFO.{self._stream}", request))
        except Refused as refused:
            raise refused.as_error() from refused
        return subject in (info["state"].get("subjects") or {})

    async def delete(self, tenant: str, ref: BlobRef) -> None:
        subject = self._subject(tenant, ref)
        await purge(self._connection, self._stream, subject)
        await purge(self._connection, self._stream, f"{subject}.>")

    def _subject(self, tenant: str, ref: BlobRef) -> str:
        return self._connection.names.blob(tenant, ref.digest)

    async def _save_ranges(self, subject: str, data: bytes) -> None:
        manifest = Manifest(len(data), min(_RANGE, self._connection.message_max))
        writes = (
            self._create(f"{subject}.{start}-{end}", data[start:end], _CREATE) for start, end in manifest.ranges()
        )
        await together(writes, _AT_ONCE)
        await self._create(subject, msgspec.json.encode(manifest), _CREATE | {_FORM: _RANGES})

    async def _create(self, subject: str, payload: bytes, headers: Headers) -> None:
        await self._connection.persist(lambda: self._create_once(subject, payload, headers))

    async def _create_once(self, subject: str, payload: bytes, headers: Headers) -> None:
        try:
            await (await self._connection.send(subject, payload, headers, "a blob"))
        except Refused as refused:
            if refused.number == WRONG_LAST_SEQUENCE:
                return  # it is there already
            if refused.number == WRONG_LAST_SEQUENCE_IN_FLIGHT:
                # Someone is storing the same right now, and nobody knows yet whether that will succeed.
                raise Unavailable(operation="a blob", seconds=0) from refused
            raise refused.as_error() from refused

    async def _read(self, subject: str) -> Stored | None:
        # Any replica may answer, and one that lags may not have it yet: only the leader's no is a no.
        return await read_last(self._connection, self._stream, subject) or await read_last(
            self._connection, self._stream, subject, leader=True
        )
