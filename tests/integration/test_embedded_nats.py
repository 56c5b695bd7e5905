from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nats
import pytest

from penstock.embedded import monitor
from penstock.embedded.errors import ServerNotReady
from penstock.embedded.nats import Durability, NatsServer
from penstock.testkit.processes import is_alive, process_id
from penstock.testkit.servers import NatsCluster


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    server = NatsServer(tmp_path)
    server.start()
    yield server
    server.stop()


async def stored(url: str) -> int:
    client = await nats.connect(url)
    info = await client.jetstream().stream_info("KEPT")
    await client.close()
    return info.state.messages


async def store(url: str, count: int) -> None:
    client = await nats.connect(url)
    jetstream = client.jetstream()
    await jetstream.add_stream(name="KEPT", subjects=["kept"])
    for _ in range(count):
        await jetstream.publish("kept", b"x")
    await client.close()


@pytest.mark.parametrize("end", ["stop", "kill"])
async def test_a_restart_keeps_address_and_data(server: NatsServer, end: str) -> None:
    url = server.url
    await store(url, 10)
    getattr(server, end)()
    assert not server.running
    server.start()
    assert server.url == url
    assert await stored(url) == 10


@pytest.mark.parametrize(("durability", "synced"), [("power", True), ("process", False)])
def test_durability_is_what_the_server_says_it_is(tmp_path: Path, durability: Durability, synced: bool) -> None:
    server = NatsServer(tmp_path, durability=durability)
    server.start()
    varz: dict[str, Any] = monitor.page(server.monitor_url, "varz") or {}
    server.stop()
    assert bool(varz["jetstream"]["config"].get("sync_always")) is synced


def test_a_server_that_cannot_start_is_an_error_and_leaves_no_process(server: NatsServer, tmp_path: Path) -> None:
    second = NatsServer(tmp_path / "second", port=server.port)
    with pytest.raises(ServerNotReady):
        second.start(timeout=0.5)
    assert not second.running


def test_stopping_twice_is_stopping_once(server: NatsServer) -> None:
    process = process_id(server.pid)
    server.stop()
    server.stop()
    assert not is_alive(process)


@pytest.mark.cluster
async def test_a_cluster_agrees_stores_and_survives_a_killed_node(tmp_path: Path) -> None:
    with NatsCluster(tmp_path) as cluster:
        client = await nats.connect(cluster.urls)
        jetstream = client.jetstream()
        await jetstream.add_stream(name="KEPT", subjects=["kept"], num_replicas=3)
        await jetstream.publish("kept", b"x")
        await client.close()
        cluster.kill(0)
        cluster.await_leader()
        cluster.restart(0)
        assert await stored(cluster.urls[0]) == 1
    assert not any(node.running for node in cluster.nodes)
