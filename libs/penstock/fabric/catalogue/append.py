"""Writing records: all or nothing, in order, each subject guarded by its last sequence, and never twice.

A single record is a plain publish; several are an atomic batch, which the server stores contiguously. Whoever
gets no answer writes again with the same guards: if the first try was stored, the second one conflicts, and the
message that follows the guard says whose it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import msgspec

from penstock.fabric.catalogue.errors import RecordConflict, TooManyEvents
from penstock.fabric.catalogue.reading import read_through
from penstock.fabric.catalogue.record import Record, decode, encode, unpacked
from penstock.fabric.errors import Unavailable
from penstock.fabric.jetstream.connection import Connection, Headers
from penstock.fabric.jetstream.reading import Stored, read_last
from penstock.fabric.jetstream.replies import CONFLICTS, Refused
from penstock.kit.ids import new_id

BATCH_LIMIT = 1000
"""The server's own, unless its operator changed it."""

_EXPECTED = "Nats-Expected-Last-Subject-Sequence"
_WRITE = "Ps-Write"
_BATCH_ID, _BATCH_SEQUENCE, _BATCH_COMMIT = "Nats-Batch-Id", "Nats-Batch-Sequence", "Nats-Batch-Commit"
_OPERATION = "a write to the catalogue"
_BATCH_LOST = frozenset({10176, 10210})
"""Parts of it went missing with the connection, or too many are under way: nothing is stored, try again."""
_IN_FLIGHT = 0.01

Guards = Mapping[str, int]
"""Last sequence of each subject written to."""


class Outgoing(msgspec.Struct, frozen=True):
    subject: str
    record: Record


async def append(connection: Connection, stream: str, records: Sequence[Outgoing], guards: Guards) -> int:
    """Write `records` and give the first one's sequence; the others follow it without a gap.

    `guards` may be out of date: what counts is that no subject already holds one of the versions.
    """
    if len(records) > BATCH_LIMIT:
        raise TooManyEvents(count=len(records), limit=BATCH_LIMIT)
    first_versions = _first_versions(records)
    write = new_id()
    while True:
        try:
            last = await connection.persist(lambda: _send(connection, records, guards, write))  # noqa: B023 - awaited here
        except Refused as refused:
            if refused.number not in CONFLICTS:
                raise refused.as_error() from refused
        else:
            return last - len(records) + 1
        lasts = await read_tails(connection, stream, first_versions)
        landed = await _landed(connection, stream, records[0].subject, guards, lasts, write)
        if landed is not None:
            return landed
        _check_free(first_versions, lasts)
        fresh = {subject: last.sequence if last else 0 for subject, last in lasts.items()}
        if fresh == guards:  # the write we lost to is not stored yet
            await asyncio.sleep(_IN_FLIGHT)
        guards = fresh


async def read_tails(connection: Connection, stream: str, subjects: Mapping[str, object]) -> dict[str, Stored | None]:
    """The last message of each subject, from the leader."""
    reads = (read_last(connection, stream, subject, leader=True) for subject in subjects)
    return dict(zip(subjects, await asyncio.gather(*reads), strict=True))


def _first_versions(records: Sequence[Outgoing]) -> dict[str, Record]:
    firsts: dict[str, Record] = {}
    lasts: dict[str, int] = {}
    for outgoing in records:
        record = outgoing.record
        last = lasts.get(outgoing.subject)
        if last is not None and record.version <= last:
            raise _conflict(record, last)
        lasts[outgoing.subject] = record.version
        firsts.setdefault(outgoing.subject, record)
    return firsts


def _check_free(firsts: Mapping[str, Record], lasts: Mapping[str, Stored | None]) -> None:
    for subject, record in firsts.items():
        stored = lasts[subject]
        if stored is not None and (last := decode(subject, stored.data).version) >= record.version:
            raise _conflict(record, last)


def _conflict(record: Record, last: int) -> RecordConflict:
    return RecordConflict(originator=str(unpacked(record.originator)), version=record.version, last=last)


async def _landed(
    connection: Connection,
    stream: str,
    subject: str,
    guards: Guards,
    lasts: Mapping[str, Stored | None],
    write: str,
) -> int | None:
    """The sequence of our first record, if an earlier try of this very write was stored: it directly follows its guard."""
    last, guard = lasts[subject], guards[subject]
    if last is None or last.sequence <= guard:
        return None
    follower = (await read_through(connection, stream, subject, guard + 1, last.sequence, limit=1))[0]
    return follower.sequence if follower.headers.get(_WRITE) == write else None


async def _send(connection: Connection, records: Sequence[Outgoing], guards: Guards, write: str) -> int:
    """One try; the last record's sequence."""
    batch = new_id()  # of its own: the server may still hold pieces of an earlier try
    guarded: set[str] = set()
    for number, outgoing in enumerate(records, 1):
        headers: Headers = {_WRITE: write}
        if outgoing.subject not in guarded:
            guarded.add(outgoing.subject)
            headers[_EXPECTED] = str(guards[outgoing.subject])
        if len(records) > 1:
            headers |= {_BATCH_ID: batch, _BATCH_SEQUENCE: str(number)}
        body = encode(outgoing.record)
        if number < len(records):
            await connection._publish(outgoing.subject, body, "", headers, _OPERATION)  # noqa: SLF001 - `tell` has no headers
            continue
        if number > 1:
            headers[_BATCH_COMMIT] = "1"
        try:
            return (await (await connection.send(outgoing.subject, body, headers, _OPERATION))).seq
        except Refused as refused:
            if refused.number in _BATCH_LOST:
                raise Unavailable(operation=_OPERATION, seconds=0) from refused
            raise
    raise AssertionError  # there is always a last record
