"""The commit: one message of a run's log, holding all events of one decision and their causes.

Commits of a run form a chain: each carries the digest of the one before, so that a change or a gap anywhere
in the history shows at the next commit.
"""

from __future__ import annotations

from hashlib import sha256

import msgspec

from penstock.core.model.time import Instant

FORMAT = 1
"""Version of the envelope. A reader refuses what is newer than itself."""


class RunKey(msgspec.Struct, frozen=True, array_like=True, order=True):
    """Names a run, and with it the subject of its log."""

    tenant: str
    run: str


class Cause(msgspec.Struct, frozen=True, array_like=True):
    """A command folded into a commit, with what is needed to decide it again."""

    id: str
    kind: str
    events: int
    data: msgspec.Raw = msgspec.Raw(b"\xc0")


class Commit(msgspec.Struct, frozen=True, rename={"format": "v"}, omit_defaults=True):
    """The envelope. Events stay encoded: the log carries them, the deciders know them."""

    format: int
    run: str
    first: int
    at: Instant
    causes: tuple[Cause, ...]
    events: tuple[msgspec.Raw, ...]
    prev: bytes = b""


class Head(msgspec.Struct, frozen=True, array_like=True):
    """Where a run's log ends: what the next commit must follow."""

    sequence: int = 0
    digest: bytes = b""
    events: int = 0


EMPTY = Head()

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Commit)


def encode_commit(commit: Commit) -> bytes:
    return _encoder.encode(commit)


def decode_commit(body: bytes) -> Commit:
    """Raises `msgspec.DecodeError` or `msgspec.ValidationError` on bytes that are not a commit."""
    return _decoder.decode(body)


def digest(body: bytes) -> bytes:
    """Truncated SHA-256: 128 bits keep a forged commit out of reach, in half the bytes."""
    return sha256(body).digest()[:16]
