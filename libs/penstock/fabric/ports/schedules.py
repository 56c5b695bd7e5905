"""Schedules: timers that the message server keeps and fires, for those that outlive an owner's memory."""

from __future__ import annotations

from typing import Protocol

import msgspec

from penstock.core.model.commit import RunKey
from penstock.core.model.time import Instant
from penstock.fabric.errors import Undecodable
from penstock.fabric.ports.delivery import Received


class Timer(msgspec.Struct, frozen=True, array_like=True):
    key: RunKey
    id: str
    due: Instant


class Schedules(Protocol):
    async def set(self, timer: Timer) -> None:
        """Fire it once at its due time, never early; setting the same id again replaces it."""
        ...

    async def clear(self, key: RunKey, timer: str) -> None:
        """Forget it, if it is there."""
        ...


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Timer).decode


def encode_timer(timer: Timer) -> bytes:
    return _encode(timer)


def decode_fired(fired: Received) -> Timer:
    try:
        return _decode(fired.data)
    except msgspec.DecodeError as error:
        raise Undecodable(what=f"the timer fired on {fired.subject}", reason=str(error)) from error
