"""Blobs in memory."""

from __future__ import annotations

from penstock.fabric.errors import BlobMissing
from penstock.fabric.naming import check_id
from penstock.fabric.ports.blobs import BlobRef, check_size


class MemoryBlobs:
    def __init__(self, size_max: int = 256 * 1024 * 1024) -> None:
        self.stored: dict[tuple[str, str], bytes] = {}
        """By tenant and digest; open to tests that damage it."""
        self._size_max = size_max

    async def put(self, tenant: str, data: bytes) -> BlobRef:
        check_size(data, self._size_max)
        ref = BlobRef.of(data)
        self.stored.setdefault(_place(tenant, ref), data)
        return ref

    async def get(self, tenant: str, ref: BlobRef) -> bytes:
        data = self.stored.get(_place(tenant, ref))
        if data is None:
            raise BlobMissing(digest=ref.digest)
        return ref.check(data)

    async def exists(self, tenant: str, ref: BlobRef) -> bool:
        return _place(tenant, ref) in self.stored

    async def delete(self, tenant: str, ref: BlobRef) -> None:
        self.stored.pop(_place(tenant, ref), None)


def _place(tenant: str, ref: BlobRef) -> tuple[str, str]:
    return check_id(tenant, "tenant"), ref.digest
