"""Tasks on one work queue stream, with a durable consumer per (tenant, queue)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import cast

from penstock.fabric.errors import FabricError
from penstock.fabric.jetstream.connection import Connection
from penstock.fabric.jetstream.consumers import NANOSECONDS, ConsumerSpec, create_consumer
from penstock.fabric.jetstream.delivery import Delivery, Leases
from penstock.fabric.jetstream.pull import Pull
from penstock.fabric.jetstream.purge import purge
from penstock.fabric.jetstream.reading import read_last
from penstock.fabric.jetstream.replies import Ack, Refused
from penstock.fabric.jetstream.together import once_more
from penstock.fabric.ports.delivery import Received
from penstock.fabric.ports.tasks import Task
from penstock.kit.config import FabricConfig

_MAX_LEASED = 50_000


class JetStreamTaskQueue(Pull):
    def __init__(self, connection: Connection, stream: str, consumer: str, *, window: int, lease: float) -> None:
        super().__init__(connection, stream, consumer, window=window)
        self._leases = Leases(lease)

    def hold(self, *deliveries: Received) -> AbstractContextManager[None]:
        return self._leases.hold(*cast("tuple[Delivery, ...]", deliveries))

    async def stop(self) -> None:
        self._leases.close()
        await super().stop()


class JetStreamTasks:
    def __init__(self, connection: Connection, config: FabricConfig) -> None:
        self._connection = connection
        self._names = connection.names
        self._stream = connection.names.tasks
        self._lease = config.task_ack_wait
        self._max_deliver = config.task_max_deliver

    async def publish(self, task: Task) -> bool:
        return await self._connection.persist(lambda: self._once(task))

    async def publish_many(self, tasks: Sequence[Task]) -> list[bool | FabricError]:
        sent: list[asyncio.Future[Ack] | FabricError] = []
        for task in tasks:
            try:
                sent.append(await self._send(task))
            except FabricError as error:
                sent.append(error)
        outcomes = [outcome if isinstance(outcome, FabricError) else await _outcome(outcome) for outcome in sent]
        return await once_more(tasks, outcomes, self.publish)

    async def find(self, tenant: str, queue: str, task: str) -> bytes | None:
        subject = self._names.task(tenant, queue, task)
        stored = await read_last(self._connection, self._stream, subject, leader=True)
        return None if stored is None else stored.data

    async def purge(self, tenant: str, queue: str, task: str) -> bool:
        return bool(await purge(self._connection, self._stream, self._names.task(tenant, queue, task)))

    async def open(self, tenant: str, queue: str, *, window: int = 512) -> JetStreamTaskQueue:
        name = self._names.queue_consumer(tenant, queue)
        spec = ConsumerSpec(
            name=name,
            durable_name=name,
            filter_subjects=[f"{self._names.queue(tenant, queue)}.*"],
            ack_wait=int(self._lease * NANOSECONDS),
            max_deliver=self._max_deliver,
            max_ack_pending=_MAX_LEASED,
        )
        try:
            await create_consumer(self._connection, self._stream, spec)
        except Refused as refused:
            raise refused.as_error() from refused
        tasks = JetStreamTaskQueue(self._connection, self._stream, name, window=window, lease=self._lease)
        await tasks.start()
        return tasks

    async def _send(self, task: Task) -> asyncio.Future[Ack]:
        subject = self._names.task(task.tenant, task.queue, task.id)
        return await self._connection.send(subject, task.body, dict(task.headers) or None, "a task")

    async def _once(self, task: Task) -> bool:
        return await _queued(await self._send(task))


async def _outcome(future: asyncio.Future[Ack]) -> bool | FabricError:
    try:
        return await _queued(future)
    except FabricError as error:
        return error


async def _queued(future: asyncio.Future[Ack]) -> bool:
    try:
        await future
    except Refused as refused:
        if refused.per_subject:
            return False
        raise refused.as_error() from refused
    return True
