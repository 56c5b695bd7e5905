"""One stored event, snapshot or position as the body of one message."""

from __future__ import annotations

from typing import Self, TypeVar
from uuid import UUID

import msgspec
from eventsourcing.persistence import Notification, StoredEvent

from penstock.fabric.errors import Undecodable


class Record(msgspec.Struct, frozen=True, array_like=True):
    originator: str
    version: int
    topic: str = ""
    state: bytes = b""
    text: bool = True
    """Whether the originator's id is text; else it is a UUID, which looks the same once written down."""

    @classmethod
    def of(cls, event: StoredEvent) -> Self:
        originator = event.originator_id
        return cls(str(originator), event.originator_version, event.topic, event.state, isinstance(originator, str))

    @property
    def originator_id(self) -> UUID | str:
        return self.originator if self.text else UUID(self.originator)

    def stored_event(self) -> StoredEvent:
        return StoredEvent(self.originator_id, self.version, self.topic, self.state)

    def notification(self, sequence: int) -> Notification:
        return Notification(self.originator_id, self.version, self.topic, self.state, sequence)


class SnapshotRecord(Record, frozen=True, array_like=True):
    position: int = 0
    """Sequence of the event it was taken at, where its tail begins; 0 if that was not known."""


R = TypeVar("R", bound=Record)
encode = msgspec.msgpack.Encoder().encode
_record = msgspec.msgpack.Decoder(Record)
_snapshot = msgspec.msgpack.Decoder(SnapshotRecord)


def decode(subject: str, body: bytes) -> Record:
    return _decode(_record, subject, body)


def decode_snapshot(subject: str, body: bytes) -> SnapshotRecord:
    return _decode(_snapshot, subject, body)


def _decode(decoder: msgspec.msgpack.Decoder[R], subject: str, body: bytes) -> R:
    try:
        return decoder.decode(body)
    except msgspec.DecodeError as error:
        raise Undecodable(what=f"a record on {subject}", reason=str(error)) from error
