"""Removing messages by subject."""

from __future__ import annotations

from penstock.fabric.jetstream.connection import Connection
from penstock.fabric.jetstream.replies import Refused


async def purge(connection: Connection, stream: str, subject: str, *, below: int | None = None) -> int:
    """Remove all messages on `subject` (wildcards allowed), or those below a sequence; how many."""
    request: dict[str, str | int] = {"filter": subject}
    if below is not None:
        request["seq"] = below
    try:
        answer = await connection.persist(lambda: connection.api(f"STREAM.PURGE.{stream}", request))
    except Refused as refused:
        raise refused.as_error() from refused
    purged: int = answer["purged"]
    return purged
