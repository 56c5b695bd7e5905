"""What the sender of a command is told, at the inbox it named: msgpack, once, after the command is acknowledged."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from penstock.core.turn.outputs import Accepted, Refused
from penstock.wire.encoding import FORMAT, Reader

Json: TypeAlias = Any


class AcceptedReply(msgspec.Struct, frozen=True, tag_field="type", tag="accepted", rename={"format": "v"}):
    id: str
    run_id: str
    sequence: int
    """Of the commit that it is in, or that it changed nothing after."""
    status: str
    outcome: str | None
    format: int = FORMAT


class RefusedReply(msgspec.Struct, frozen=True, tag_field="type", tag="refused", rename={"format": "v"}):
    id: str
    run_id: str
    code: str
    message: str
    attributes: dict[str, Json]
    retryable: bool
    format: int = FORMAT


Reply: TypeAlias = AcceptedReply | RefusedReply

_encode = msgspec.msgpack.Encoder(enc_hook=str).encode
_reader: Reader[Reply] = Reader(Reply)


def encode_reply(output: Accepted | Refused) -> bytes:
    if isinstance(output, Accepted):
        summary = output.summary
        return _encode(AcceptedReply(output.id, output.key.run, output.sequence, summary.status, summary.outcome))
    attributes = dict(output.attributes)
    return _encode(RefusedReply(output.id, output.key.run, output.code, output.message, attributes, output.retryable))


def decode_reply(body: bytes) -> Reply:
    """Raises `msgspec.DecodeError` on bytes that are not one."""
    return _reader.msgpack(body)
