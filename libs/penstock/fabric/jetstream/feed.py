"""A stream read in order by a short-lived consumer that is made again, where it left off, whenever it is lost."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator

from penstock.fabric.errors import ConsumerGone, FabricError
from penstock.fabric.jetstream.connection import Connection
from penstock.fabric.jetstream.consumers import (
    NANOSECONDS,
    ConsumerSpec,
    consumer_info,
    create_consumer,
    delete_consumer,
)
from penstock.fabric.jetstream.delivery import Delivery
from penstock.fabric.jetstream.pull import Pull
from penstock.fabric.jetstream.replies import Refused
from penstock.kit.ids import new_id

_IDLE = 60 * NANOSECONDS
_BATCH = 500
_QUIET = 1.0


async def feed(
    connection: Connection,
    stream: str,
    subject: str,
    sequence: int = 1,
    *,
    live: bool,
    last_per_subject: bool = False,
    headers_only: bool = False,
) -> AsyncGenerator[Delivery, None]:
    """Messages on `subject` from `sequence` on, each once and in order; ends at the present end unless `live`."""
    while True:
        spec = ConsumerSpec(
            name=f"feed_{new_id()}",
            filter_subjects=[subject],
            ack_policy="none",
            deliver_policy="last_per_subject" if last_per_subject else "by_start_sequence",
            opt_start_seq=None if last_per_subject else max(sequence, 1),
            headers_only=headers_only,
            inactive_threshold=_IDLE,
            mem_storage=True,
            num_replicas=1,
        )
        try:
            info = await create_consumer(connection, stream, spec)
        except Refused as refused:
            raise refused.as_error() from refused
        if not live and info["num_pending"] == 0:
            await delete_consumer(connection, stream, spec.name)
            return
        pull = Pull(connection, stream, spec.name, window=2 * _BATCH)
        await pull.start()
        try:
            async for delivery in _all(pull) if live else _rest(pull, connection, stream, spec.name):
                # A message may come twice when the server moved the consumer; order says which ones.
                if delivery.sequence < sequence:
                    continue
                sequence = delivery.sequence + 1
                yield delivery
                if not live and delivery.pending == 0:
                    return
        except ConsumerGone:
            continue
        else:
            return
        finally:
            await pull.stop()
            if connection.connected:
                await delete_consumer(connection, stream, spec.name)


async def _all(pull: Pull) -> AsyncIterator[Delivery]:
    while True:
        for delivery in await pull.take(_BATCH):
            yield delivery


async def _rest(pull: Pull, connection: Connection, stream: str, consumer: str) -> AsyncIterator[Delivery]:
    """Until nothing is left, which the last delivery does not say when what came after it was removed meanwhile."""
    while True:
        try:
            async with asyncio.timeout(_QUIET):
                deliveries = await pull.take(_BATCH)
        except TimeoutError:
            with contextlib.suppress(FabricError):
                info = await consumer_info(connection, stream, consumer)
                if info is not None and info["num_pending"] == 0:
                    return
            continue
        for delivery in deliveries:
            yield delivery
