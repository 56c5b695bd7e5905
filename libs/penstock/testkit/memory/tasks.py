"""Tasks in memory."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.fabric.errors import FabricError
from penstock.fabric.naming import Names
from penstock.fabric.ports.deadletters import DeadLetter
from penstock.fabric.ports.tasks import Task
from penstock.kit.config import FabricConfig
from penstock.testkit.clock import VirtualClock
from penstock.testkit.memory.deadletters import MemoryDeadLetters
from penstock.testkit.memory.queues import MemoryInbox, MemoryQueue, Message


class MemoryTasks:
    def __init__(self, names: Names, clock: VirtualClock, config: FabricConfig, letters: MemoryDeadLetters) -> None:
        self._names = names
        self._clock = clock
        self._config = config
        self._letters = letters
        self.queue = MemoryQueue(clock, one_per_subject=True)

    async def publish(self, task: Task) -> bool:
        subject = self._names.task(task.tenant, task.queue, task.id)
        return self.queue.publish(subject, task.body, dict(task.headers))

    async def publish_many(self, tasks: Sequence[Task]) -> list[bool | FabricError]:
        outcomes: list[bool | FabricError] = []
        for task in tasks:
            try:
                outcomes.append(await self.publish(task))
            except FabricError as error:
                outcomes.append(error)
        return outcomes

    async def find(self, tenant: str, queue: str, task: str) -> bytes | None:
        message = self.queue.find(self._names.task(tenant, queue, task))
        return None if message is None else message.data

    async def purge(self, tenant: str, queue: str, task: str) -> bool:
        return self.queue.purge(self._names.task(tenant, queue, task))

    async def open(self, tenant: str, queue: str, *, window: int = 512) -> MemoryInbox:  # noqa: ARG002 - nothing is fetched ahead
        consumer = self.queue.consume(
            self._names.queue_consumer(tenant, queue),
            self._names.queue(tenant, queue) + ".",
            lease=self._config.task_ack_wait,
            max_deliver=self._config.task_max_deliver,
            given_up=self._bury,
        )
        return MemoryInbox(consumer)

    def _bury(self, message: Message, deliveries: int) -> None:
        tenant, queue, identity = self._names.queue_of(message.subject)
        cause = f"delivered {deliveries} times without an answer"
        self._letters.put(
            DeadLetter(tenant, queue, identity, cause, message.data, self._clock.now(), deliveries, message.headers)
        )
        self.queue.remove(message)
