"""Fetches what a decision cannot know from the state: definitions, small blobs, memos."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeAlias, TypeVar

import msgspec

from penstock.coordinator.ports import Ports
from penstock.core.model.decider import Facts, Need
from penstock.core.model.evaluate import Failure
from penstock.fabric.errors import BlobCorrupt
from penstock.fabric.ports.blobs import BlobRef

Json: TypeAlias = Any
T = TypeVar("T")


async def fetch(ports: Ports, tenant: str, need: Need) -> Facts:
    """All at once. Raises if a definition is not there; a blob that cannot be read is a `Failure`."""
    definitions, blobs, memos = await asyncio.gather(
        _each(need.definitions, lambda name: ports.definitions.load(tenant, name)),
        _each(need.blobs, lambda name: _blob(ports, tenant, name)),
        _each(need.memos, lambda name: ports.memos.load(tenant, name)),
    )
    return Facts(definitions, blobs, memos)


async def _each(names: Iterable[str], load: Callable[[str], Awaitable[T]]) -> dict[str, T]:
    wanted = sorted(names)
    return dict(zip(wanted, await asyncio.gather(*map(load, wanted)), strict=True))


async def _blob(ports: Ports, tenant: str, name: str) -> Json | Failure:
    try:
        data = await ports.small_blobs.load(tenant, BlobRef(name, 0))
    except ValueError:
        return Failure("BLOB_MISSING", f"{name} names no blob")
    except BlobCorrupt:  # in ranges: larger than a message
        return Failure("BLOB_TOO_LARGE", f"blob {name} is too large to be read by an expression")
    if data is None:
        return Failure("BLOB_MISSING", f"there is no blob {name}, or it is too large to be read by an expression")
    if BlobRef.of(data).name != name:
        return Failure("BLOB_CORRUPT", f"blob {name} is not what was stored")
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return Failure("BLOB_MALFORMED", f"blob {name} is not JSON")
