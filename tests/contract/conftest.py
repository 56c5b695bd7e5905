"""One real nats-server per worker process, and for each test an installation of its own on it."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import pytest

from penstock.embedded.nats import NatsServer
from penstock.fabric.errors import FabricError
from penstock.fabric.jetstream.connection import Connection
from penstock.fabric.jetstream.declaration import declare
from penstock.fabric.jetstream.replies import Refused
from penstock.fabric.jetstream.topology import JetStreamTopology
from penstock.fabric.naming import Names
from penstock.kit.config import FabricConfig, NatsConfig
from penstock.testkit.eventually import eventually
from penstock.testkit.servers import NatsCluster
from tests.contract.rig import Rig, jetstream_rig, memory_rig


class Fabric(NamedTuple):
    """An installation whose streams and buckets are all there."""

    connection: Connection
    config: FabricConfig


@contextlib.asynccontextmanager
async def install(
    server: NatsServer,
    nats: NatsConfig | None = None,
    *,
    shards: int = 2,
    replicas: Literal[1, 3] = 1,
    counter_window: float = 600.0,
) -> AsyncIterator[Fabric]:
    """A fresh installation on `server`, removed afterwards if the server is still there."""
    config = FabricConfig(
        prefix=f"t{secrets.token_hex(4)}",
        shards=shards,
        replicas=replicas,
        counter_window=counter_window,
        lease=3.0,
        task_ack_wait=1.0,
        task_max_deliver=3,
    )
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


@pytest.fixture(scope="session")
def nats_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsCluster]:
    with NatsCluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture
async def cluster_fabric(nats_cluster: NatsCluster) -> AsyncIterator[Fabric]:
    nats = NatsConfig(url=",".join(nats_cluster.urls))
    async with install(nats_cluster.nodes[0], nats, replicas=3, shards=1) as fabric:
        yield fabric


@pytest.fixture
async def rig(request: pytest.FixtureRequest) -> AsyncIterator[Rig]:
    """The ports on what the test names: `memory`, `jetstream` or `cluster`."""
    if request.param == "memory":
        yield memory_rig(FabricConfig(prefix="mem", shards=2, lease=3.0, task_ack_wait=1.0, task_max_deliver=3))
    elif request.param == "jetstream":
        async with install(request.getfixturevalue("nats_server"), shards=2) as fabric:
            yield jetstream_rig(fabric.connection, fabric.config)
    else:
        cluster: NatsCluster = request.getfixturevalue("nats_cluster")
        async with install(cluster.nodes[0], NatsConfig(url=",".join(cluster.urls)), replicas=3, shards=1) as fabric:
            yield jetstream_rig(fabric.connection, fabric.config)


class OwnServer(NamedTuple):
    """An installation on a server that the test may stop and start."""

    fabric: Fabric
    server: NatsServer

    async def restart(self, *, crash: bool) -> None:
        """Until we are connected to the new process."""
        client = self.fabric.connection.client
        before = client.stats["reconnects"]
        if crash:
            self.server.kill()
        else:
            self.server.stop()
        self.server.start()
        await eventually(lambda: client.stats["reconnects"] > before)

    @contextlib.contextmanager
    def gone(self) -> Iterator[None]:
        """The server has crashed, and is soon given up on; afterwards it is back."""
        connection = self.fabric.connection
        patient = connection.config
        connection.config = msgspec.structs.replace(patient, request_timeout=0.3, retry_for=0.6)
        self.server.kill()
        try:
            yield
        finally:
            self.server.start()
            connection.config = patient


@pytest.fixture
async def own_server(tmp_path: Path) -> AsyncIterator[OwnServer]:
    server = NatsServer(tmp_path / "own", durability="process")
    server.start()
    try:
        async with install(server) as fabric:
            yield OwnServer(fabric, server)
    finally:
        server.stop()
