"""Idempotency keys: of all who ask for the same thing, one does it and the others get its result.

absent ──claim──▶ pending ──complete──▶ done ──ttl──▶ absent
   ▲                 │
   └── lease, release┘
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from penstock.core.model.time import Instant
from penstock.fabric.errors import TooLarge

FINGERPRINT_LIMIT = 64
RESULT_LIMIT = 64 * 1024
"""What is larger is stored as a blob, with its reference as the result."""


class Won(msgspec.Struct, frozen=True):
    """The key is ours until the lease ends: do the work, then complete or release it."""

    tenant: str
    key: str
    fingerprint: bytes
    token: str
    revision: int


class Pending(msgspec.Struct, frozen=True):
    """Someone else is at it."""

    since: Instant


class Done(msgspec.Struct, frozen=True):
    """It was done before."""

    result: bytes


Claim = Won | Pending | Done


def check_fingerprint(fingerprint: bytes) -> bytes:
    if len(fingerprint) > FINGERPRINT_LIMIT:
        raise TooLarge(what="a request's fingerprint", size=len(fingerprint), limit=FINGERPRINT_LIMIT)
    return fingerprint


def check_result(result: bytes) -> bytes:
    if len(result) > RESULT_LIMIT:
        raise TooLarge(what="an idempotent result", size=len(result), limit=RESULT_LIMIT)
    return result


class Idempotency(Protocol):
    async def claim(self, tenant: str, key: str, fingerprint: bytes, *, lease: float) -> Claim:
        """Ask for the key, for `lease` seconds (at least one). `fingerprint` is a digest of the request:
        the same key with another one is an `IdempotencyConflict`.
        """
        ...

    async def complete(self, won: Won, result: bytes) -> None:
        """Keep the result for all who ask again; `ClaimLost` if the lease ended. May be repeated."""
        ...

    async def release(self, won: Won) -> None:
        """Give the key back undone, so that the next claim wins at once. Harmless after the lease."""
        ...

    async def read(self, tenant: str, key: str) -> Pending | Done | None: ...
