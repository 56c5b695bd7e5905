"""The gateway's servers in this process, on a fabric that the test controls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import grpc
import pytest

from penstock.fabric.ports.topology import Drift, StreamReport, Topology
from penstock.gateway.grpc_server import GrpcServer
from penstock.gateway.system import Identity, NatsInfo, System
from penstock.kit.config import Config, GatewayConfig, ServiceConfig
from penstock.kit.health import Health
from penstock.testkit.eventually import eventually
from penstock.v1 import system_pb2 as pb
from penstock.v1.system_pb2_grpc import SystemServiceStub

REPORT = StreamReport(
    name="PS_TASK",
    kind="stream",
    subjects=["ps.task.>"],
    replicas=3,
    retention="workqueue",
    messages=2**40,
    bytes=2**50,
    drift=[Drift("num_replicas", "3", "1")],
    missing=True,
)
IDENTITY = Identity(
    version="1",
    build="abc",
    python="3",
    instance_id="i",
    roles=["gateway"],
    start_time=datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
)
NATS = NatsInfo(connected=True, url="nats://host:4222", version="2.15.1", api_level=5, cluster="c")

# Depends on how far the call had come when the server stopped.
CUT_OFF = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}


class Fabric:
    """Answers when it is released, and tells when it was asked."""

    def __init__(self) -> None:
        self.asked, self.released = asyncio.Event(), asyncio.Event()

    def nats(self) -> NatsInfo:
        return NATS

    def topology(self) -> Topology:
        return self

    async def ensure(self) -> list[str]:
        return []

    async def describe(self) -> list[StreamReport]:
        self.asked.set()
        await self.released.wait()
        return [REPORT]


class Edge:
    def __init__(self, fabric: Fabric, server: GrpcServer, channel: grpc.aio.Channel) -> None:
        self.fabric, self.server, self.channel = fabric, server, channel
        self.system = SystemServiceStub(channel)

    async def refuses(self) -> bool:
        try:
            await self.system.GetSystemInfo(pb.GetSystemInfoRequest(), timeout=30)
        except grpc.aio.AioRpcError as error:
            return error.code() in CUT_OFF
        return False

    def ask_topology(self) -> asyncio.Future[pb.GetTopologyResponse]:
        return asyncio.ensure_future(self.system.GetTopology(pb.GetTopologyRequest(), timeout=30))


@asynccontextmanager
async def edge(grace: float = 10.0) -> AsyncIterator[Edge]:
    fabric = Fabric()
    config = Config(gateway=GatewayConfig(grpc_port=0, message_max=1000), service=ServiceConfig(grace=grace))
    async with (
        GrpcServer(config, System(IDENTITY, fabric), Health()) as server,
        grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel,
    ):
        yield Edge(fabric, server, channel)


async def test_every_field_of_the_contract_is_filled() -> None:
    async with edge() as running:
        running.fabric.released.set()
        info = await running.system.GetSystemInfo(pb.GetSystemInfoRequest(), timeout=30)
        topology = await running.ask_topology()
    (stream,) = topology.streams
    for message in (info, info.nats, stream, stream.drift[0]):
        assert {field.name for field, _ in message.ListFields()} == set(message.DESCRIPTOR.fields_by_name)
    assert info.start_time.ToDatetime(UTC) == IDENTITY.start_time
    assert (stream.kind, stream.messages, stream.bytes) == (pb.STREAM_KIND_STREAM, 2**40, 2**50)


async def test_a_request_over_the_limit_is_refused() -> None:
    async with edge() as running:
        call = running.channel.unary_unary("/penstock.v1.SystemService/GetSystemInfo", None, None)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(b"x" * 1001, timeout=30)
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_draining_finishes_the_call_in_flight_and_takes_no_other() -> None:
    async with edge() as running:
        first = running.ask_topology()
        await running.fabric.asked.wait()
        draining = asyncio.create_task(running.server.drain())
        await eventually(running.refuses)
        running.fabric.released.set()
        assert len((await first).streams) == 1
        await draining


async def test_a_call_that_does_not_end_is_cut_off_after_the_grace() -> None:
    async with edge(grace=0.01) as running:
        first = running.ask_topology()
        await running.fabric.asked.wait()
        await running.server.drain()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await first
        assert caught.value.code() in CUT_OFF
