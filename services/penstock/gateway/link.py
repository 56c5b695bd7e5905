"""The gateway's link to NATS: made in the background, waited for as long as it takes."""

from __future__ import annotations

from types import TracebackType
from typing import Self

import structlog

from penstock.fabric.errors import Unavailable
from penstock.fabric.jetstream.connection import Connection
from penstock.fabric.jetstream.replies import Refused
from penstock.fabric.jetstream.topology import JetStreamTopology
from penstock.fabric.naming import Names
from penstock.fabric.ports.topology import Topology
from penstock.gateway.system import NatsInfo
from penstock.kit.backoff import until_available
from penstock.kit.config import Config
from penstock.kit.redact import redact

log = structlog.get_logger()


class Link:
    def __init__(self, config: Config, *, name: str) -> None:
        self._config = config
        self._name = name
        self._connection: Connection | None = None
        self._topology: Topology | None = None
        self._api_level = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._connection is not None:
            await self._connection.close()

    async def connect(self) -> None:
        """Returns once the streams are there; from then on the connection heals itself."""
        log.info("nats.connecting", address=redact(self._config.nats.url))
        self._connection = connection = await until_available(self._open, "connect")
        log.info("nats.connected", address=connection.server.url, version=connection.server.version)
        self._api_level = await until_available(self._ask_api_level, "jetstream")
        topology = JetStreamTopology(connection, self._config.fabric)
        changed = await until_available(topology.ensure, "topology")
        log.info("topology.ready", changed=changed)
        self._topology = topology

    async def _open(self) -> Connection:
        fabric = self._config.fabric
        return await Connection.open(self._config.nats, Names(fabric.prefix, fabric.shards), name=self._name)

    def topology(self) -> Topology:
        if self._topology is None or self._connection is None or not self._connection.connected:
            raise self._away()
        return self._topology

    def nats(self) -> NatsInfo:
        if self._connection is None:
            return NatsInfo(connected=False, url=redact(self._config.nats.url))
        server = self._connection.server
        return NatsInfo(
            connected=self._connection.connected,
            url=server.url,
            version=server.version,
            api_level=self._api_level,
            cluster=server.cluster,
        )

    async def check(self) -> str:
        """For readiness: the streams have been made, and JetStream answers."""
        self.topology()
        await self._ask_api_level()
        return self.nats().url

    async def _ask_api_level(self) -> int:
        if self._connection is None:
            raise self._away()
        try:
            info = await self._connection.api("INFO")
        except Refused as refused:
            raise refused.as_error() from refused
        return int(info["api"]["level"])

    def _away(self) -> Unavailable:
        url = redact(self._config.nats.url)
        return Unavailable(operation=f"a connection to {url}", seconds=self._config.nats.request_timeout)
