"""The coordinator's life cycle: connect, make sure of the streams, then own shards until told to stop."""

from __future__ import annotations

import asyncio

import structlog

from penstock.coordinator.coordinator import Coordinator
from penstock.coordinator.kinds import kinds
from penstock.coordinator.ports import Ports
from penstock.fabric.errors import Unavailable
from penstock.fabric.jetstream.connection import Connection
from penstock.fabric.jetstream.topology import JetStreamTopology
from penstock.fabric.naming import Names
from penstock.fabric.ports.owners import Member
from penstock.kit.backoff import until_available
from penstock.kit.clock import now
from penstock.kit.lifecycle import Service
from penstock.kit.redact import redact

log = structlog.get_logger()


async def start(service: Service) -> None:
    work = _Work(service)
    service.health.register("nats", work.check)
    running = service.spawn(work.run(), "coordinate")

    async def drain() -> None:
        running.cancel()
        await asyncio.wait([running])

    service.on_drain(drain)


class _Work:
    """In the background: the process says that it lives, and that it is not ready, while NATS is away."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._connection: Connection | None = None

    async def run(self) -> None:
        config, instance = self._service.config, self._service.instance
        connection = await until_available(self._open, "connect")
        try:
            changed = await until_available(JetStreamTopology(connection, config.fabric).ensure, "topology")
            log.info("topology.ready", changed=changed)
            self._connection = connection
            member = Member(instance, instance)
            await Coordinator(Ports.over(connection, config), config.fabric, member, kinds(), clock=now).run()
        finally:
            await connection.close()

    async def _open(self) -> Connection:
        config = self._service.config
        names = Names(config.fabric.prefix, config.fabric.shards)
        return await Connection.open(config.nats, names, name=f"coordinator-{self._service.instance}")

    async def check(self) -> str:
        url = redact(self._service.config.nats.url)
        if self._connection is None or not self._connection.connected:
            raise Unavailable(operation=f"a connection to {url}", seconds=0)
        return url
