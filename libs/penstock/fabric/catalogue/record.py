"""One stored event, snapshot or position as the body of one message."""

from __future__ import annotations

from typing import TypeVar
from uuid import UUID

import msgspec
from eventsourcing.persistence import StoredEvent

from penstock.fabric.errors import Undecodable


class Record(msgspec.Struct, frozen=True, array_like=True):
    originator: str | bytes
    """A UUID travels as its 16 bytes, so that it does not come back as the text that looks like it."""
    version: int
    topic: str = ""
    state: bytes = b""

    @classmethod
    def of(cls, event: StoredEvent) -> Record:
        return cls(packed(event.originator_id), event.originator_version, event.topic, event.state)

    def stored_event(self) -> StoredEvent:
        return StoredEvent(unpacked(self.originator), self.version, self.topic, self.state)


class SnapshotRecord(Record, frozen=True, array_like=True):
    position: int = 0
    """Sequence of the event it was taken at, where its tail begins; 0 if that was not known."""


R = TypeVar("R", bound=Record)
encode = msgspec.msgpack.Encoder().encode
_record = msgspec.msgpack.Decoder(Record)
_snapshot = msgspec.msgpack.Decoder(SnapshotRecord)


def packed(originator: UUID | str) -> str | bytes:
    return originator.bytes if isinstance(originator, UUID) else originator


def unpacked(originator: str | bytes) -> UUID | str:
    return UUID(bytes=originator) if isinstance(originator, bytes) else originator


def decode(subject: str, body: bytes) -> Record:
    return _decode(_record, subject, body)


def decode_snapshot(subject: str, body: bytes) -> SnapshotRecord:
    return _decode(_snapshot, subject, body)


def _decode(decoder: msgspec.msgpack.Decoder[R], subject: str, body: bytes) -> R:
    try:
        return decoder.decode(body)
    except msgspec.DecodeError as error:
        raise Undecodable(what=f"a record on {subject}", reason=str(error)) from error
