"""Idempotency keys in memory."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import msgspec

from penstock.core.model.time import SECOND, Instant
from penstock.fabric.errors import ClaimLost, IdempotencyConflict
from penstock.fabric.naming import check_id
from penstock.fabric.ports.idempotency import (
    Claim,
    Done,
    Pending,
    Won,
    check_fingerprint,
    check_result,
)
from penstock.fabric.ports.keys import check_key


class _Record(msgspec.Struct, frozen=True):
    fingerprint: bytes
    token: str
    since: Instant
    until: int
    result: bytes | None = None

    def answer(self) -> Pending | Done:
        return Pending(self.since) if self.result is None else Done(self.result)


class MemoryIdempotency:
    def __init__(self, now: Callable[[], Instant], ttl: float = 86_400.0) -> None:
        self._now = now
        self._ttl = ttl
        self._records: dict[tuple[str, str], _Record] = {}
        self._serial = count(1)

    async def claim(self, tenant: str, key: str, fingerprint: bytes, *, lease: float) -> Claim:
        record = self._present(tenant, key)
        if record is not None:
            if record.fingerprint != fingerprint:
                raise IdempotencyConflict(key=key)
            return record.answer()
        revision = next(self._serial)
        now = self._now()
        self._records[tenant, key] = _Record(
            check_fingerprint(fingerprint), str(revision), now, now + int(max(1.0, lease) * SECOND)
        )
        return Won(tenant, key, fingerprint, str(revision), revision)

    async def complete(self, won: Won, result: bytes) -> None:
        record = self._present(won.tenant, won.key)
        check_result(result)
        if record is None or record.token != won.token:
            raise ClaimLost(key=won.key)
        if record.result is None:
            now = self._now()
            self._records[won.tenant, won.key] = _Record(
                won.fingerprint, won.token, now, now + int(self._ttl * SECOND), result
            )

    async def release(self, won: Won) -> None:
        record = self._present(won.tenant, won.key)
        if record is not None and record.token == won.token and record.result is None:
            del self._records[won.tenant, won.key]

    async def read(self, tenant: str, key: str) -> Pending | Done | None:
        record = self._present(tenant, key)
        return None if record is None else record.answer()

    def _present(self, tenant: str, key: str) -> _Record | None:
        place = check_id(tenant, "tenant"), check_key(key, "an idempotency key")
        record = self._records.get(place)
        if record is not None and record.until <= self._now():
            del self._records[place]
            return None
        return record
