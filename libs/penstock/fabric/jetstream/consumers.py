"""Creating, finding and removing consumers."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.fabric.jetstream.connection import Connection
from penstock.fabric.jetstream.replies import CONSUMER_NOT_FOUND, STREAM_NOT_FOUND, Refused

NANOSECONDS = 1_000_000_000
_MISSING = frozenset({CONSUMER_NOT_FOUND, STREAM_NOT_FOUND})


class ConsumerSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """A pull consumer, in the server's own words."""

    name: str
    durable_name: str | None = None
    filter_subjects: list[str] | None = None
    ack_policy: str = "explicit"
    ack_wait: int | None = None
    max_ack_pending: int | None = None
    max_deliver: int | None = None
    deliver_policy: str = "all"
    opt_start_seq: int | None = None
    headers_only: bool = False
    inactive_threshold: int | None = None
    mem_storage: bool = False
    num_replicas: int = 0
    replay_policy: str = "instant"


async def create_consumer(connection: Connection, stream: str, spec: ConsumerSpec) -> dict[str, Any]:
    """Create, or change to `spec`; what the server made of it. Raises `Refused`."""
    config = msgspec.to_builtins(spec)
    # Left out by omit_defaults, but the server's own defaults differ.
    config["ack_policy"] = spec.ack_policy
    config["deliver_policy"] = spec.deliver_policy
    config["replay_policy"] = spec.replay_policy
    request = {"stream_name": stream, "config": config}
    return await connection.persist(lambda: connection.api(f"CONSUMER.CREATE.{stream}.{spec.name}", request))


async def delete_consumer(connection: Connection, stream: str, name: str) -> bool:
    """Remove it; False if it was not there."""
    try:
        await connection.persist(lambda: connection.api(f"CONSUMER.DELETE.{stream}.{name}"))
    except Refused as refused:
        if refused.number in _MISSING:
            return False
        raise refused.as_error() from refused
    return True


async def consumer_info(connection: Connection, stream: str, name: str) -> dict[str, Any] | None:
    try:
        return await connection.api(f"CONSUMER.INFO.{stream}.{name}")
    except Refused as refused:
        if refused.number in _MISSING:
            return None
        raise refused.as_error() from refused


async def consumer_exists(connection: Connection, stream: str, name: str) -> bool:
    return await consumer_info(connection, stream, name) is not None


async def consumer_names(connection: Connection, stream: str) -> list[str]:
    names: list[str] = []

    async def next_page() -> dict[str, Any]:
        return await connection.api(f"CONSUMER.NAMES.{stream}", {"offset": len(names)})

    while True:
        page = await connection.persist(next_page)
        names += page.get("consumers") or []
        if len(names) >= page["total"]:
            return names
