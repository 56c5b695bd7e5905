"""Reading streams without a consumer: one message, the last of a subject, or many in one request.

Direct gets are answered by any replica and may be a moment old; a read that must not be stale goes to the
leader. Both give the same `Stored`.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from nats.aio.msg import Msg

from penstock.fabric.errors import RequestRefused, Unavailable
from penstock.fabric.jetstream.client import parse_headers
from penstock.fabric.jetstream.connection import Connection
from penstock.fabric.jetstream.replies import MESSAGE_NOT_FOUND, Refused

_PAGE = 10_000
_LASTS_AT_ONCE = 500
_NOT_FOUND, _END = "404", "204"


class Stored(msgspec.Struct, frozen=True):
    """A message as the stream holds it."""

    sequence: int
    subject: str
    data: bytes
    headers: Mapping[str, str]
    time: str


async def read_last(connection: Connection, stream: str, subject: str, *, leader: bool = False) -> Stored | None:
    """The last message on `subject`, or None."""
    if leader:
        return await _ask_leader(connection, stream, {"last_by_subj": subject})
    return await _ask_any(connection, f"DIRECT.GET.{stream}.{subject}", b"")


async def read_at(connection: Connection, stream: str, sequence: int) -> Stored | None:
    """The message at `sequence`, from the leader."""
    return await _ask_leader(connection, stream, {"seq": sequence})


async def read_from(
    connection: Connection, stream: str, subject: str, sequence: int, *, limit: int | None = None
) -> list[Stored]:
    """All messages on `subject` (wildcards allowed) from `sequence` on, in order; at most `limit`."""
    found: list[Stored] = []
    while limit is None or len(found) < limit:
        page = _PAGE if limit is None else min(_PAGE, limit - len(found))
        request = {"batch": page, "next_by_subj": subject, "seq": max(sequence, 1)}
        replies, status = await _many(connection, stream, request)
        found.extend(_stored(reply) for reply in replies)
        headers = status.headers or {}
        if headers.get("Status") == _NOT_FOUND or int(headers.get("Nats-Num-Pending", 0)) == 0:
            break
        sequence = int(headers["Nats-Last-Sequence"]) + 1
    return found


async def read_through(
    connection: Connection, stream: str, subject: str, first: int, last: int, *, limit: int | None = None
) -> list[Stored]:
    """As `read_from`, but not from a replica that has yet to see `last`, which the leader says is on `subject`."""

    async def attempt() -> list[Stored]:
        found = await read_from(connection, stream, subject, first, limit=limit)
        if len(found) == limit or (found and found[-1].sequence >= last):
            return found
        raise Unavailable(operation=f"a read of {subject} up to {last}", seconds=0)

    return await connection.persist(attempt)


async def read_lasts(connection: Connection, stream: str, subjects: Iterable[str]) -> list[Stored]:
    """The last message of each subject that has one, in stream order."""
    found: list[Stored] = []
    wanted = list(subjects)
    for start in range(0, len(wanted), _LASTS_AT_ONCE):
        request = {"multi_last": wanted[start : start + _LASTS_AT_ONCE]}
        replies, _ = await _many(connection, stream, request)
        found.extend(_stored(reply) for reply in replies)
    found.sort(key=lambda stored: stored.sequence)
    return found


async def _many(connection: Connection, stream: str, request: dict[str, Any]) -> tuple[list[Msg], Msg]:
    subject = f"$JS.API.DIRECT.GET.{stream}"

    async def attempt() -> tuple[list[Msg], Msg]:
        replies, status = await connection.request_many(subject, msgspec.json.encode(request))
        _check(status, subject)
        return replies, status

    return await connection.persist(attempt)


async def _ask_any(connection: Connection, api: str, payload: bytes) -> Stored | None:
    subject = f"$JS.API.{api}"
    reply = await connection.persist(lambda: connection.request(subject, payload))
    if reply.headers is not None and not reply.data and "Status" in reply.headers:
        _check(reply, subject)
        return None
    return _stored(reply)


async def _ask_leader(connection: Connection, stream: str, request: dict[str, Any]) -> Stored | None:
    try:
        answer = await connection.persist(lambda: connection.api(f"STREAM.MSG.GET.{stream}", request))
    except Refused as refused:
        if refused.number == MESSAGE_NOT_FOUND:
            return None
        raise refused.as_error() from refused
    message = answer["message"]
    return Stored(
        sequence=message["seq"],
        subject=message["subject"],
        data=b64decode(message.get("data", "")),
        headers=parse_headers(b64decode(message.get("hdrs", ""))),
        time=message["time"],
    )


def _check(reply: Msg, subject: str) -> None:
    headers = reply.headers or {}
    status = headers.get("Status", "")
    if status in {_NOT_FOUND, _END}:
        return
    if status.startswith(("408", "503")):
        raise Unavailable(operation=subject, seconds=0)
    raise RequestRefused(operation=subject, reason=headers.get("Description", ""), number=status)


def _stored(reply: Msg) -> Stored:
    headers = reply.headers or {}
    return Stored(
        int(headers["Nats-Sequence"]),
        headers["Nats-Subject"],
        reply.data,
        headers,
        headers["Nats-Time-Stamp"],
    )
