"""Blobs: small ones in the stream, large ones there too or in an object store; all of them verified on read."""

from __future__ import annotations

import asyncio
from typing import Protocol

from penstock.fabric.errors import BlobMissing
from penstock.fabric.jetstream.blob_stream import StreamBlobs
from penstock.fabric.jetstream.connection import Connection
from penstock.fabric.ports.blobs import BlobRef, check_size
from penstock.kit.config import BlobsConfig

_OFF_THE_LOOP = 1024 * 1024
"""Hashing more than this holds up everyone else on the loop."""


class BlobStore(Protocol):
    """One place where blobs lie."""

    async def save(self, tenant: str, ref: BlobRef, data: bytes) -> None: ...
    async def load(self, tenant: str, ref: BlobRef) -> bytes | None: ...
    async def exists(self, tenant: str, ref: BlobRef) -> bool: ...
    async def delete(self, tenant: str, ref: BlobRef) -> None: ...


class JetStreamBlobs:
    def __init__(self, connection: Connection, config: BlobsConfig) -> None:
        self._config = config
        self._small: list[BlobStore] = [StreamBlobs(connection)]
        self._large = self._small
        if config.backend != "stream":
            # The library behind it is large, and most installations never need it.
            from penstock.fabric.jetstream.blob_objects import ObjectBlobs  # noqa: PLC0415 - see above

            objects = ObjectBlobs(config.backend, connection.config.retry_for)
            self._small, self._large = [*self._small, objects], [objects, *self._small]

    async def put(self, tenant: str, data: bytes) -> BlobRef:
        check_size(data, self._config.size_max)
        ref = BlobRef.of(data) if len(data) <= _OFF_THE_LOOP else await asyncio.to_thread(BlobRef.of, data)
        await self._stores(ref)[0].save(tenant, ref, data)
        return ref

    async def get(self, tenant: str, ref: BlobRef) -> bytes:
        for store in self._stores(ref):
            data = await store.load(tenant, ref)
            if data is not None:
                return ref.check(data) if len(data) <= _OFF_THE_LOOP else await asyncio.to_thread(ref.check, data)
        raise BlobMissing(digest=ref.digest)

    async def exists(self, tenant: str, ref: BlobRef) -> bool:
        for store in self._stores(ref):
            if await store.exists(tenant, ref):
                return True
        return False

    async def delete(self, tenant: str, ref: BlobRef) -> None:
        for store in self._stores(ref):
            await store.delete(tenant, ref)

    def _stores(self, ref: BlobRef) -> list[BlobStore]:
        """Where it goes first; then where it may be since before the configuration changed."""
        return self._small if ref.size <= self._config.stream_max else self._large
