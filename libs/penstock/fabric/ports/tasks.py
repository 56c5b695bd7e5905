"""Tasks: units of work on named queues, each on a subject of its own, handed to one worker at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import msgspec

from penstock.fabric.errors import FabricError
from penstock.fabric.ports.delivery import Inbox, Received


class Task(msgspec.Struct, frozen=True):
    """`id` is `<task_id>-<attempt>`: a task is queued once per attempt, however often it is published."""

    tenant: str
    queue: str
    id: str
    body: bytes
    headers: Mapping[str, str] = {}


class TaskQueue(Inbox, Protocol):
    def hold(self, *deliveries: Received) -> AbstractContextManager[None]:
        """Extend the lease of these deliveries for as long as the block runs."""
        ...


class Tasks(Protocol):
    async def publish(self, task: Task) -> bool:
        """Queue it; False if it is already queued or with a worker."""
        ...

    async def publish_many(self, tasks: Sequence[Task]) -> list[bool | FabricError]: ...

    async def find(self, tenant: str, queue: str, task: str) -> bytes | None:
        """The body of a task that is queued or with a worker."""
        ...

    async def purge(self, tenant: str, queue: str, task: str) -> bool:
        """Take it back; False if it was not there. A worker that has it is not told."""
        ...

    async def open(self, tenant: str, queue: str, *, window: int = 512) -> TaskQueue:
        """Start pulling from a queue, shared with everyone who does the same."""
        ...
