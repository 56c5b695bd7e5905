"""Snapshots of aggregates: one key per version in the snapshot bucket, so that they leave no gap in `PS_CAT`.

A snapshot only saves time. One that cannot be read is left out, and the events have everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import msgspec
from eventsourcing.persistence import AggregateRecorder, StoredEvent

from penstock.fabric.catalogue.append import Outgoing, append
from penstock.fabric.catalogue.link import Link
from penstock.fabric.catalogue.positions import Positions
from penstock.fabric.catalogue.record import SnapshotRecord, decode_snapshot
from penstock.fabric.catalogue.selection import Selection
from penstock.fabric.catalogue.subjects import Subjects
from penstock.fabric.errors import Undecodable
from penstock.fabric.jetstream.connection import Connection
from penstock.fabric.jetstream.reading import Stored, read_lasts
from penstock.fabric.jetstream.replies import Refused


class JetStreamSnapshotRecorder(AggregateRecorder):
    def __init__(self, link: Link, positions: Positions) -> None:
        self._link = link
        self._positions = positions
        self._stream = f"KV_{link.names.snapshots}"
        self._subjects = Subjects(link.names, link.application)

    def insert_events(self, stored_events: Sequence[StoredEvent], **_: Any) -> Sequence[int] | None:  # noqa: ANN401 - the library's
        self._link.call(lambda connection: self._save(connection, stored_events))
        return None

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        selection = Selection(gt, lte, desc, limit)
        return self._link.call(lambda connection: self._load(connection, originator_id, selection))

    async def _save(self, connection: Connection, snapshots: Sequence[StoredEvent]) -> None:
        records = [self._outgoing(snapshot) for snapshot in snapshots]
        if records:
            await append(connection, self._stream, records, {outgoing.subject: 0 for outgoing in records})

    def _outgoing(self, snapshot: StoredEvent) -> Outgoing:
        originator, version = snapshot.originator_id, snapshot.originator_version
        position = self._positions.find(self._subjects.event(originator), version) or 0
        record = msgspec.structs.replace(SnapshotRecord.of(snapshot), position=position)
        return Outgoing(self._subjects.snapshot(originator, version), record)

    async def _load(self, connection: Connection, originator: UUID | str, selection: Selection) -> list[StoredEvent]:
        versions = selection.apply(await self._versions(connection, originator), version=int)
        subjects = [self._subjects.snapshot(originator, version) for version in versions]
        found = {stored.subject: stored for stored in await read_lasts(connection, self._stream, subjects)}
        return [
            snapshot
            for subject in subjects
            if subject in found and (snapshot := self._snapshot(found[subject])) is not None
        ]

    async def _versions(self, connection: Connection, originator: UUID | str) -> list[int]:
        request = {"subjects_filter": self._subjects.snapshots(originator)}
        try:
            info = await connection.persist(lambda: connection.api(f"STREAM.INFO.{self._stream}", request))
        except Refused as refused:
            raise refused.as_error() from refused
        return sorted(int(subject.rpartition(".")[2]) for subject in info["state"].get("subjects") or ())

    def _snapshot(self, stored: Stored) -> StoredEvent | None:
        try:
            record = decode_snapshot(stored.subject, stored.data)
        except Undecodable:
            return None
        if record.position:
            self._positions.remember(self._subjects.event(record.originator_id), record.version, record.position)
        return record.stored_event()
