"""Outputs that other runs may take instead of doing the same work again. Lost, they cost that work."""

from __future__ import annotations

import msgspec

from penstock.core.model.decider import Memo
from penstock.core.model.effects import SaveMemo
from penstock.fabric.jetstream.bucket import Bucket
from penstock.fabric.naming import token

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Memo).decode


class Memos:
    """Beside the snapshots, whose keys have two parts: both can be made again."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    async def load(self, tenant: str, memo: str) -> Memo | None:
        entry = await self._bucket.load(_key(tenant, memo))
        if entry.value is None:
            return None
        try:
            return _decode(entry.value)
        except msgspec.DecodeError:
            return None

    async def save(self, tenant: str, effect: SaveMemo) -> None:
        await self._bucket.save(_key(tenant, effect.memo), _encode(Memo(effect.output)))


def _key(tenant: str, memo: str) -> str:
    return f"{token(tenant, 'tenant')}.memo.{token(memo, 'task id')}"
