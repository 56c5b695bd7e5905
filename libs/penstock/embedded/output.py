"""What a child prints, line by line."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import IO

_CHUNK = 64 * 1024
_LINE_MAX = 256 * 1024
_DRAIN = 0.5


@contextlib.asynccontextmanager
async def pump(output: IO[bytes], on_line: Callable[[str], None]) -> AsyncIterator[None]:
    """Hands on lines while the block runs, and then what is left.

    Not until end of file: grandchildren may hold the pipe open after the child is gone.
    """
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), output
    )
    pumping = asyncio.create_task(_pump(reader, on_line))
    try:
        yield
    finally:
        await asyncio.wait({pumping}, timeout=_DRAIN)
        pumping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await pumping
        transport.close()


async def _pump(reader: asyncio.StreamReader, on_line: Callable[[str], None]) -> None:
    rest = b""
    while chunk := await reader.read(_CHUNK):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            on_line(line.decode(errors="replace"))
        if len(rest) > _LINE_MAX:
            on_line(rest.decode(errors="replace"))
            rest = b""
    if rest:
        on_line(rest.decode(errors="replace"))
