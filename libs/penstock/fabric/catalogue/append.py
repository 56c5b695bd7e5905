"""Writing records: all or nothing, in order, each subject guarded by its last sequence, and never twice.

A single record is a plain publish; several are an atomic batch, which the server stores contiguously. Whoever
gets no answer writes again with the same guards: if the first try was stored, the second one conflicts, and the
message that follows the guard says whose it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from penstock.fabric.catalogue.errors import RecordConflict, TooManyEvents
from penstock.fabric.catalogue.record import Record, decode, encode
from penstock.fabric.errors import TooLarge, Unavailable
from penstock.fabric.jetstream.connection import Connection, Headers
from penstock.fabric.jetstream.reading import Stored, read_last, read_through
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


class Outgoing(NamedTuple):
    subject: str
    record: Record


async def append(connection: Connection, stream: str, records: Sequence[Outgoing], hints: Mapping[str, int]) -> int:
    """Write `records` and give the first one's sequence; the others follow it without a gap.

    A version that its subject already has, or has passed, is a `RecordConflict`. `hints` save asking where a
    subject ends: sequences (0: nowhere yet) of lower versions. One that is out of date costs a second try.
    """
    if len(records) > BATCH_LIMIT:
        raise TooManyEvents(count=len(records), limit=BATCH_LIMIT)
    firsts = _firsts(records)
    unknown = firsts.keys() - hints.keys()
    guards = {**hints, **_guards(firsts, await _tails(connection, stream, unknown))}
    write = new_id()
    while True:
        try:
            last = await connection.persist(lambda: _send(connection, records, guards, write))  # noqa: B023 - awaited here
        except Refused as refused:
            if refused.number not in CONFLICTS:
                raise refused.as_error() from refused
        else:
            return last - len(records) + 1
        # In this order: had our own write been among the tails, `_landed` would find it.
        tails = await _tails(connection, stream, firsts)
        landed = await _landed(connection, stream, records[0].subject, guards, write)
        if landed is not None:
            return landed
        fresh = _guards(firsts, tails)
        if fresh == guards:  # the write we lost to is not stored yet
            await asyncio.sleep(_IN_FLIGHT)
        guards = fresh


def _firsts(records: Sequence[Outgoing]) -> dict[str, Record]:
    """Each subject's first record; later ones must have later versions."""
    firsts: dict[str, Record] = {}
    lasts: dict[str, int] = {}
    for subject, record in records:
        _check(record, lasts.get(subject))
        lasts[subject] = record.version
        firsts.setdefault(subject, record)
    return firsts


async def _tails(connection: Connection, stream: str, subjects: Collection[str]) -> dict[str, Stored | None]:
    """The last message of each subject, from the leader."""
    reads = (read_last(connection, stream, subject, leader=True) for subject in subjects)
    return dict(zip(subjects, await asyncio.gather(*reads), strict=True))


def _guards(firsts: Mapping[str, Record], tails: Mapping[str, Stored | None]) -> dict[str, int]:
    guards: dict[str, int] = {}
    for subject, tail in tails.items():
        if tail is not None:
            _check(firsts[subject], decode(subject, tail.data).version)
        guards[subject] = 0 if tail is None else tail.sequence
    return guards


def _check(record: Record, last: int | None) -> None:
    if last is not None and record.version <= last:
        raise RecordConflict(originator=record.originator, version=record.version, last=last)


async def _landed(
    connection: Connection, stream: str, subject: str, guards: Mapping[str, int], write: str
) -> int | None:
    """Where our first record is, if an earlier try of this very write was stored: right behind its guard."""
    last, guard = await read_last(connection, stream, subject, leader=True), guards[subject]
    if last is None or last.sequence <= guard:
        return None
    follower = (await read_through(connection, stream, subject, guard + 1, last.sequence, limit=1))[0]
    return follower.sequence if follower.headers.get(_WRITE) == write else None


async def _send(connection: Connection, records: Sequence[Outgoing], guards: Mapping[str, int], write: str) -> int:
    """One try; the last record's sequence."""
    messages = _messages(records, guards, write)
    for _, body, _ in messages:  # all before the first is sent, or the server would hold half a batch for a while
        if len(body) > connection.message_max:
            raise TooLarge(what=_OPERATION, size=len(body), limit=connection.message_max)
    for subject, body, headers in messages[:-1]:
        await connection.tell(subject, body, headers=headers)
    subject, body, headers = messages[-1]
    try:
        return (await (await connection.send(subject, body, headers, _OPERATION))).seq
    except Refused as refused:
        if refused.number in _BATCH_LOST:
            raise Unavailable(operation=_OPERATION, seconds=0) from refused
        raise


def _messages(records: Sequence[Outgoing], guards: Mapping[str, int], write: str) -> list[tuple[str, bytes, Headers]]:
    messages: list[tuple[str, bytes, Headers]] = []
    unguarded = dict(guards)
    batch = new_id()  # of its own: the server may still hold pieces of an earlier try
    for number, (subject, record) in enumerate(records, 1):
        headers: Headers = {_WRITE: write}
        if subject in unguarded:  # only the first message of a subject may carry its guard
            headers[_EXPECTED] = str(unguarded.pop(subject))
        if len(records) > 1:
            headers |= {_BATCH_ID: batch, _BATCH_SEQUENCE: str(number)}
        messages.append((subject, encode(record), headers))
    if len(messages) > 1:
        messages[-1][2][_BATCH_COMMIT] = "1"
    return messages
