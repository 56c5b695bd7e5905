"""One real nats-server per worker process, and for each test an installation of its own on it."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import AsyncIterator, Iterator
from typing import NamedTuple

import pytest

from penstock.embedded.nats import NatsServer
from penstock.fabric.errors import FabricError
from penstock.fabric.jetstream.connection import Connection
from penstock.fabric.jetstream.declaration import declare
from penstock.fabric.jetstream.replies import Refused
from penstock.fabric.jetstream.topology import JetStreamTopology
from penstock.fabric.naming import Names
from penstock.kit.config import FabricConfig, NatsConfig


class Fabric(NamedTuple):
    """An installation whose streams and buckets are all there."""

    connection: Connection
    config: FabricConfig


@contextlib.asynccontextmanager
async def install(server: NatsServer, nats: NatsConfig | None = None) -> AsyncIterator[Fabric]:
    """A fresh installation on `server`, removed afterwards if the server is still there."""
    config = FabricConfig(prefix=f"t{secrets.token_hex(4)}", shards=2)
    names = Names(config.prefix, config.shards)
    connection = await Connection.open(nats or NatsConfig(url=server.url), names, name="test")
    try:
        await JetStreamTopology(connection, config).ensure()
        yield Fabric(connection, config)
        if server.running:
            for declared in declare(config, names):
                with contextlib.suppress(FabricError, Refused):
                    await connection.api(f"STREAM.DELETE.{declared.name}")
    finally:
        await connection.close()


@pytest.fixture(scope="session")
def nats_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    server = NatsServer(tmp_path_factory.mktemp("nats"), durability="process")
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
async def fabric(nats_server: NatsServer) -> AsyncIterator[Fabric]:
    async with install(nats_server) as fabric:
        yield fabric
