"""An aggregate's events on `PS_CAT`: one subject, one message per event, versions only ever growing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from eventsourcing.persistence import AggregateRecorder, StoredEvent

from penstock.fabric.catalogue.append import Outgoing, append
from penstock.fabric.catalogue.link import Link
from penstock.fabric.catalogue.positions import Positions
from penstock.fabric.catalogue.record import Record, decode
from penstock.fabric.catalogue.selection import Selection
from penstock.fabric.catalogue.subjects import Subjects
from penstock.fabric.jetstream.connection import Connection
from penstock.fabric.jetstream.reading import read_last, read_through

_INITIAL_VERSION = 1


class JetStreamAggregateRecorder(AggregateRecorder):
    def __init__(self, link: Link, positions: Positions) -> None:
        self._link = link
        self._positions = positions
        self._stream = link.names.catalogue
        self._subjects = Subjects(link.names, link.application)

    def insert_events(self, stored_events: Sequence[StoredEvent], **_: Any) -> Sequence[int] | None:  # noqa: ANN401 - the library's
        self._link.call(lambda connection: self._append(connection, self._outgoing(stored_events)))
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
        return self._link.call(lambda connection: self._select(connection, originator_id, selection))

    def _outgoing(self, events: Iterable[StoredEvent]) -> list[Outgoing]:
        return [Outgoing(self._subjects.event(event.originator_id), Record.of(event)) for event in events]

    async def _append(self, connection: Connection, records: Sequence[Outgoing]) -> list[int]:
        """Their sequences."""
        if not records:
            return []
        first = await append(connection, self._stream, records, self._hints(records))
        sequences = range(first, first + len(records))
        ends = {subject: (record, at) for (subject, record), at in zip(records, sequences, strict=True)}
        for subject, (record, sequence) in ends.items():
            self._positions.remember(subject, record.version, sequence)
        return list(sequences)

    def _hints(self, records: Sequence[Outgoing]) -> dict[str, int]:
        """Where subjects end: remembered, or nowhere because the aggregate begins here."""
        firsts = {subject: record.version for subject, record in reversed(records)}
        hints: dict[str, int] = {}
        for subject, version in firsts.items():
            known = self._positions.find(subject, version - 1)
            if known is not None or version <= _INITIAL_VERSION:
                hints[subject] = known or 0
        return hints

    async def _select(self, connection: Connection, originator: UUID | str, selection: Selection) -> list[StoredEvent]:
        subject = self._subjects.event(originator)
        tip = await read_last(connection, self._stream, subject, leader=True)
        if tip is None:
            return []
        last = decode(subject, tip.data)
        if selection.gt is not None and last.version <= selection.gt:
            return []
        if selection.is_only(last.version):
            found = [(last, tip.sequence)]
        else:
            found = await self._read(connection, subject, tip.sequence, selection)
        chosen = selection.apply(found, version=_version)
        if chosen:
            newest, sequence = max(chosen, key=_version)
            self._positions.remember(subject, newest.version, sequence)
        return [record.stored_event() for record, _ in chosen]

    async def _read(
        self, connection: Connection, subject: str, last: int, selection: Selection
    ) -> list[tuple[Record, int]]:
        """From the event that `gt` names if we know where it is, and find it there; else from the beginning."""
        limit = None if selection.desc else selection.limit
        if selection.gt is None:
            return await self._records(connection, subject, 1, last, limit)
        known = self._positions.find(subject, selection.gt)
        if known is not None and known <= last:
            found = await self._records(connection, subject, known, last, None if limit is None else limit + 1)
            if found[0][0].version == selection.gt:
                return found
            self._positions.forget(subject, selection.gt)
        return await self._records(connection, subject, 1, last, None)

    async def _records(
        self, connection: Connection, subject: str, first: int, last: int, limit: int | None
    ) -> list[tuple[Record, int]]:
        found = await read_through(connection, self._stream, subject, first, last, limit=limit)
        return [(decode(subject, stored.data), stored.sequence) for stored in found]


def _version(read: tuple[Record, int]) -> int:
    return read[0].version
