"""Blobs: bytes that never change, named by their SHA-256, each tenant's apart from the others'."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Protocol, Self

import msgspec

from penstock.fabric.errors import BlobCorrupt, TooLarge, Undecodable

_NAME = re.compile(r"sha256:[0-9a-f]{64}")


class BlobRef(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"name": "$blob"}):
    """What stands for a blob in an event or a payload: `{"$blob": "sha256:…", "size": n}`."""

    name: str
    size: int

    def __post_init__(self) -> None:
        if _NAME.fullmatch(self.name) is None or self.size < 0:
            raise ValueError("a blob reference is sha256:<64 hex digits> and a size")

    @classmethod
    def of(cls, data: bytes) -> Self:
        return cls(f"sha256:{sha256(data).hexdigest()}", len(data))

    @classmethod
    def from_json(cls, document: object) -> Self:
        """The reference that a decoded JSON object is; `Undecodable` if it is none."""
        try:
            return msgspec.convert(document, cls)
        except msgspec.ValidationError as error:
            raise Undecodable(what="a blob reference", reason=str(error)) from error

    def to_json(self) -> dict[str, str | int]:
        return {"$blob": self.name, "size": self.size}

    @property
    def digest(self) -> str:
        return self.name.removeprefix("sha256:")

    def __str__(self) -> str:
        return f"cas://{self.name}"

    def check(self, data: bytes) -> bytes:
        """The data, if it is what this names; else `BlobCorrupt`."""
        if BlobRef.of(data) != self:
            raise BlobCorrupt(digest=self.digest)
        return data


def check_size(data: bytes, limit: int) -> None:
    if len(data) > limit:
        raise TooLarge(what="a blob", size=len(data), limit=limit)


class Blobs(Protocol):
    async def put(self, tenant: str, data: bytes) -> BlobRef:
        """Store; storing the same again changes nothing. `TooLarge` over the configured size."""
        ...

    async def get(self, tenant: str, ref: BlobRef) -> bytes:
        """Exactly what was stored, or `BlobMissing`, or `BlobCorrupt`: never other bytes."""
        ...

    async def exists(self, tenant: str, ref: BlobRef) -> bool:
        """Whether all of it is there. Says nothing about whether it is intact."""
        ...

    async def delete(self, tenant: str, ref: BlobRef) -> None:
        """Remove it if it is there. For retention: whoever calls this knows that nobody refers to it any more
        and that nobody is storing it right now.
        """
        ...
