"""Idempotency keys in a bucket: a claim is a record with a short time to live, a result the next revision of it.

The server ends claims, by its own clock. Whoever claimed can only complete the very revision it wrote, so a
late result never overwrites anything.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Literal

import msgspec

from penstock.core.model.time import Instant
from penstock.fabric.errors import ClaimLost, IdempotencyConflict, Undecodable
from penstock.fabric.jetstream.bucket import Bucket
from penstock.fabric.jetstream.connection import Connection
from penstock.fabric.jetstream.purge import purge
from penstock.fabric.naming import token
from penstock.fabric.ports.idempotency import (
    Claim,
    Done,
    Pending,
    Won,
    check_fingerprint,
    check_result,
)
from penstock.fabric.ports.keys import check_key
from penstock.kit.clock import now
from penstock.kit.config import FabricConfig
from penstock.kit.ids import new_id


class Record(msgspec.Struct, frozen=True, rename={"format": "v"}):
    """What the bucket holds. The key itself is in it for whoever looks inside; its name is a hash."""

    format: Literal[1]
    key: str
    fingerprint: bytes
    token: str
    since: Instant
    result: bytes | None = None

    def answer(self) -> Pending | Done:
        return Pending(self.since) if self.result is None else Done(self.result)


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Record)


class JetStreamIdempotency:
    def __init__(self, connection: Connection, config: FabricConfig) -> None:
        self._connection = connection
        self._ttl = config.idempotency_ttl
        self._bucket = Bucket(connection, connection.names.idempotency)

    async def claim(self, tenant: str, key: str, fingerprint: bytes, *, lease: float) -> Claim:
        name = _name(tenant, key)
        record = Record(1, key, check_fingerprint(fingerprint), new_id(), now())
        follows = 0
        while True:
            revision = await self._bucket.save(name, _encoder.encode(record), follows=follows, ttl=lease)
            if revision is not None:
                return Won(tenant, key, fingerprint, record.token, revision)
            entry = await self._bucket.load(name)
            if entry.value is None:  # ended meanwhile, or deleted: what remains may be written over
                follows = entry.revision
                continue
            other = _decode(entry.value, name)
            if other.fingerprint != fingerprint:
                raise IdempotencyConflict(key=key)
            return other.answer()

    async def complete(self, won: Won, result: bytes) -> None:
        name = _name(won.tenant, won.key)
        record = Record(1, won.key, won.fingerprint, won.token, now(), check_result(result))
        revision = await self._bucket.save(name, _encoder.encode(record), follows=won.revision, ttl=self._ttl)
        if revision is None and not await self._completed(name, won.token):
            raise ClaimLost(key=won.key)

    async def release(self, won: Won) -> None:
        # Only up to our own revision: a later claim on the same key has a higher one.
        subject = f"$KV.{self._bucket.name}.{_name(won.tenant, won.key)}"
        await purge(self._connection, self._bucket.stream, subject, below=won.revision + 1)

    async def read(self, tenant: str, key: str) -> Pending | Done | None:
        name = _name(tenant, key)
        entry = await self._bucket.load(name)
        return None if entry.value is None else _decode(entry.value, name).answer()

    async def _completed(self, name: str, claim: str) -> bool:
        """By an earlier call for the same claim, whose acknowledgement got lost."""
        entry = await self._bucket.load(name)
        if entry.value is None:
            return False
        record = _decode(entry.value, name)
        return record.token == claim and record.result is not None


def _name(tenant: str, key: str) -> str:
    digest = sha256(check_key(key, "an idempotency key").encode()).hexdigest()
    return f"{token(tenant, 'tenant')}.{digest}"


def _decode(data: bytes, name: str) -> Record:
    try:
        return _decoder.decode(data)
    except msgspec.DecodeError as error:
        raise Undecodable(what=f"the idempotency record {name}", reason=str(error)) from error
