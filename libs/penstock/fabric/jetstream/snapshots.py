"""Snapshots in a bucket, one per run; a large state is a blob that the bucket refers to."""

from __future__ import annotations

import msgspec

from penstock.core.model.commit import Head, RunKey
from penstock.fabric.errors import FabricError
from penstock.fabric.jetstream.bucket import Bucket
from penstock.fabric.jetstream.connection import Connection
from penstock.fabric.naming import token
from penstock.fabric.ports.blobs import BlobRef, Blobs
from penstock.fabric.ports.snapshots import Snapshot

_FORMAT = 1


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    format: int
    head: Head
    state: bytes | BlobRef


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Kept).decode


class JetStreamSnapshots:
    def __init__(self, connection: Connection, blobs: Blobs, *, inline_max: int) -> None:
        self._bucket = Bucket(connection, connection.names.snapshots)
        self._blobs = blobs
        self._inline_max = inline_max

    async def save(self, key: RunKey, snapshot: Snapshot) -> None:
        state: bytes | BlobRef = snapshot.state
        if len(snapshot.state) > self._inline_max:
            state = await self._blobs.put(key.tenant, snapshot.state)
        await self._bucket.save(_key(key), _encode(_Kept(_FORMAT, snapshot.head, state)))

    async def load(self, key: RunKey) -> Snapshot | None:
        entry = await self._bucket.load(_key(key), leader=False)
        if entry.value is None:
            return None
        try:
            kept = _decode(entry.value)
            if kept.format != _FORMAT:
                return None
            state = kept.state
            if isinstance(state, BlobRef):
                state = await self._blobs.get(key.tenant, state)
        except (msgspec.DecodeError, FabricError):
            return None  # it only saves time; the log has everything
        return Snapshot(kept.head, state)

    async def delete(self, key: RunKey) -> None:
        await self._bucket.delete(_key(key))


def _key(key: RunKey) -> str:
    return f"{token(key.tenant, 'tenant')}.{token(key.run, 'run id')}"
