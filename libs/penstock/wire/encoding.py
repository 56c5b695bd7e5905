"""The two encodings of messages: JSON unless the header says msgpack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Generic, TypeVar

import msgspec

CONTENT_TYPE: Final = "Content-Type"
MSGPACK: Final = "application/msgpack"
FORMAT: Final = 1
"""Version of every message here. A reader refuses what is newer than itself."""

T = TypeVar("T")


class Reader(Generic[T]):
    """Reads one type of message. Whatever is wrong with the bytes is a `msgspec.DecodeError`."""

    def __init__(self, kind: Any) -> None:  # noqa: ANN401 - a type, or a union of types
        self._json: msgspec.json.Decoder[T] = msgspec.json.Decoder(kind)
        self._msgpack: msgspec.msgpack.Decoder[T] = msgspec.msgpack.Decoder(kind)

    def read(self, body: bytes, headers: Mapping[str, str]) -> T:
        return self.msgpack(body) if headers.get(CONTENT_TYPE) == MSGPACK else self.json(body)

    def json(self, body: bytes) -> T:
        return _read(self._json, body)

    def msgpack(self, body: bytes) -> T:
        return _read(self._msgpack, body)


def _read(decoder: msgspec.json.Decoder[T] | msgspec.msgpack.Decoder[T], body: bytes) -> T:
    try:
        return decoder.decode(body)
    except (UnicodeDecodeError, RecursionError) as error:
        raise msgspec.DecodeError(str(error)) from error


def check_format(given: int) -> None:
    if given > FORMAT:
        raise msgspec.ValidationError(f"format {given} is newer than {FORMAT}")
