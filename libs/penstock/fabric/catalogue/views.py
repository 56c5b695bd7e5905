"""A projection's view: its state and how far it has come, in one message, so that neither can be without the other.

For views that fit into a message. Larger ones belong into a database, with a tracking recorder of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

import msgspec
from eventsourcing.persistence import Tracking, TrackingRecorder

from penstock.fabric.catalogue.errors import RecordConflict, in_library_words
from penstock.fabric.catalogue.link import Link
from penstock.fabric.catalogue.subjects import view_key
from penstock.fabric.errors import Undecodable
from penstock.fabric.jetstream.bucket import Bucket, Entry
from penstock.fabric.jetstream.connection import Connection


class _View(msgspec.Struct, frozen=True, array_like=True):
    positions: dict[str, int]
    state: bytes


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_View).decode


class JetStreamTrackingRecorder(TrackingRecorder):
    """Views derive from it, read `state` and change it with `record`."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._key = view_key(link.application)
        self._latest: Entry | None = None
        self._recording = Lock()

    def state(self) -> bytes:
        """As it was last recorded, by whomever; empty before that."""
        return self._view(self._load()).state

    def record(self, tracking: Tracking, change: Callable[[bytes], bytes]) -> None:
        """Replace the state by `change` of it, once per notification. `change` may be called more than once."""
        name, position = tracking.application_name, tracking.notification_id
        with self._recording:
            while True:
                entry = self._latest or self._load()
                view = self._view(entry)
                last = view.positions.get(name)
                if last is not None and last >= position:
                    with in_library_words():
                        raise RecordConflict(originator=name, version=position, last=last)
                value = _encode(_View(view.positions | {name: position}, change(view.state)))
                self._latest = self._save(entry, value)
                if self._latest is not None:
                    return

    def insert_tracking(self, tracking: Tracking) -> None:
        self.record(tracking, lambda state: state)

    def max_tracking_id(self, application_name: str) -> int | None:
        return self._view(self._load()).positions.get(application_name)

    def _load(self) -> Entry:
        return self._link.call(lambda connection: self._bucket(connection).load(self._key))

    def _save(self, entry: Entry, value: bytes) -> Entry | None:
        """The entry that now is; None if another writer was first."""
        revision = self._link.call(
            lambda connection: self._bucket(connection).save(self._key, value, follows=entry.revision)
        )
        return None if revision is None else Entry(self._key, value, revision)

    def _bucket(self, connection: Connection) -> Bucket:
        return Bucket(connection, self._link.names.snapshots)

    def _view(self, entry: Entry) -> _View:
        if entry.value is None:
            return _View({}, b"")
        with in_library_words():
            try:
                return _decode(entry.value)
            except msgspec.DecodeError as error:
                raise Undecodable(what=f"view {self._link.application}", reason=str(error)) from error
