"""Reads that never miss what was there when they began, although any replica may answer them.

The leader is asked for the last message first; a replica that does not have it yet is asked again.
"""

from __future__ import annotations

import asyncio

from penstock.fabric.jetstream.connection import Connection
from penstock.fabric.jetstream.reading import Stored, read_from

_CATCH_UP = 0.02


async def read_through(
    connection: Connection, stream: str, subject: str, first: int, last: int, *, limit: int | None = None
) -> list[Stored]:
    """Messages on `subject` from `first` up to at least `last`, which must be one of them; at most `limit`."""
    while True:
        found = await read_from(connection, stream, subject, first, limit=limit)
        if len(found) == limit or (found and found[-1].sequence >= last):
            return found
        await asyncio.sleep(_CATCH_UP)
