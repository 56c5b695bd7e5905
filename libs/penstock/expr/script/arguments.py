"""How argument values enter a sandbox: as JSON text, or packed for Lua. Bounded and checked first."""

from __future__ import annotations

import re

import msgspec

from penstock.core.model.evaluate import Json
from penstock.expr.errors import EvaluationError, LimitExceeded
from penstock.expr.script.result import MAX_BYTES

_pack = msgspec.msgpack.Encoder().encode
# No JSON text is longer than this many times what it is packed: `false,` and `\u0000` are six characters for a byte.
_PACKING = 6
_PERHAPS_BEYOND_64_BITS = re.compile(rb"\xcf[\x80-\xff]")


def encode(language: str, values: list[Json]) -> bytes:
    """One JSON list."""
    try:
        text = msgspec.json.encode(values)
    except (TypeError, RecursionError, UnicodeError) as error:
        raise _not_json(language, error) from None
    if len(text) > MAX_BYTES:
        raise LimitExceeded(language=language, limit="argument size")
    return text


def pack(language: str, values: list[Json]) -> bytes:
    """One MessagePack text after the other, the larger members of objects as bytes: most scripts never look at them."""
    try:
        packed = b"".join([_pack(_parcel(value)) for value in values])
        if _PERHAPS_BEYOND_64_BITS.search(packed):  # to be found even where the script does not look
            packed = b"".join(map(_pack, values))
    except OverflowError:
        raise EvaluationError(language=language, reason="an argument has an integer beyond 64 bits") from None
    except (TypeError, RecursionError, UnicodeError) as error:
        raise _not_json(language, error) from None
    if len(packed) > MAX_BYTES // _PACKING:
        encode(language, values)  # for its size: the limit is one of JSON
    return packed


def _parcel(value: Json) -> Json:
    if type(value) is not dict:
        return value
    return {name: _pack(member) if type(member) in _CONTAINERS and member else member for name, member in value.items()}


_CONTAINERS = frozenset({dict, list})


def _not_json(language: str, error: Exception) -> EvaluationError:
    return EvaluationError(language=language, reason=f"the arguments are not JSON: {error}")
