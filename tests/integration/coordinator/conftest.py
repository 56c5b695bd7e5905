"""One real nats-server per worker process, and for each test an installation of its own on it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from penstock.embedded.nats import NatsServer
from tests.contract.conftest import install, own_server
from tests.integration.coordinator.stage import Stage

__all__ = ["own_server"]


@pytest.fixture(scope="session")
def nats_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    server = NatsServer(tmp_path_factory.mktemp("nats"), durability="process")
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
async def stage(nats_server: NatsServer) -> AsyncIterator[Stage]:
    async with install(nats_server, shards=2) as fabric:
        yield Stage(fabric.connection, fabric.config)
