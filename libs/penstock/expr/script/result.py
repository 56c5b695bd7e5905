"""What comes out of a sandbox: JSON text, bounded and checked before anyone else sees it."""

from __future__ import annotations

import asyncio

import msgspec

from penstock.core.model.evaluate import Json
from penstock.expr.errors import EvaluationError, LimitExceeded

MAX_BYTES = 1 << 20
MAX_DEPTH = 64
_AT_ONCE = 1 << 16


async def decode(language: str, text: bytes) -> Json:
    """Large results are read in a thread, so that the caller's loop goes on."""
    if len(text) > _AT_ONCE:
        return await asyncio.to_thread(_decode, language, text)
    return _decode(language, text)


def outputs(value: Json) -> dict[str, Json]:
    """An object names its outputs; anything else is the output `result`."""
    return value if isinstance(value, dict) else {"result": value}


def _decode(language: str, text: bytes) -> Json:
    if len(text) > MAX_BYTES:
        raise LimitExceeded(language=language, limit="result size")
    try:
        value = msgspec.json.decode(text)
        msgspec.msgpack.encode(value)  # how it will be stored: an integer beyond 64 bits has no place there
    except RecursionError:
        raise LimitExceeded(language=language, limit="nesting") from None
    except (msgspec.DecodeError, OverflowError, UnicodeError) as error:
        raise EvaluationError(language=language, reason=f"the result is not JSON: {error}") from None
    if deeper(value, text, MAX_DEPTH):
        raise LimitExceeded(language=language, limit="nesting")
    return value


def deeper(value: Json, text: bytes, levels: int) -> bool:
    """Whether more containers lie inside each other. Most JSON texts have not even so many in all."""
    if text.count(b"[") + text.count(b"{") <= levels or not isinstance(value, dict | list):
        return False
    level = [value]
    for _ in range(levels):
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True
