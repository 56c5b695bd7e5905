"""The gateway as users run it: a process of its own beside a real nats-server."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

import aiohttp
import grpc
import msgspec
import pytest
from google.rpc import error_details_pb2  # type: ignore[import-untyped]
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_status import rpc_status

from penstock.embedded.nats import NatsServer
from penstock.fabric.errors import Unavailable
from penstock.testkit.eventually import eventually
from penstock.v1 import system_pb2 as pb
from penstock.v1.system_pb2_grpc import SystemServiceStub

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


class Gateway:
    """A running gateway, and a client for it."""

    channel: grpc.aio.Channel
    rest: aiohttp.ClientSession
    system: SystemServiceStub

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.log: list[dict[str, Any]] = []

    @classmethod
    @asynccontextmanager
    async def running(cls, nats_url: str, **environ: str) -> AsyncIterator[Self]:
        gateway = cls(await spawn(PENSTOCK_NATS_URL=nats_url, **environ))
        reading = asyncio.create_task(gateway._read_log())
        try:
            listening = await gateway.logged("gateway.listening")
            async with (
                grpc.aio.insecure_channel(f"127.0.0.1:{listening['grpc_port']}") as gateway.channel,
                aiohttp.ClientSession(f"http://127.0.0.1:{listening['http_port']}") as gateway.rest,
            ):
                gateway.system = SystemServiceStub(gateway.channel)
                yield gateway
        finally:
            if gateway.process.returncode is None:
                gateway.process.kill()
                await gateway.process.wait()
            await reading

    async def _read_log(self) -> None:
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            self.log.append(msgspec.json.decode(line))

    async def logged(self, event: str) -> dict[str, Any]:
        return await eventually(lambda: next((line for line in self.log if line["event"] == event), {}), 30)

    async def get(self, path: str) -> tuple[int, Any]:
        async with self.rest.get(path) as response:
            return response.status, await response.json(content_type=None)

    async def health(self) -> Any:  # noqa: ANN401 - an enum of generated code
        stub = health_pb2_grpc.HealthStub(self.channel)
        return (await stub.Check(health_pb2.HealthCheckRequest(), timeout=10)).status

    async def becomes(self, *, ready: bool) -> None:
        """Wait until both edges say so."""
        expected = (200, SERVING) if ready else (503, NOT_SERVING)

        async def both_say_so() -> bool:
            return ((await self.get("/health/ready"))[0], await self.health()) == expected

        await eventually(both_say_so, 30)

    async def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return await asyncio.wait_for(self.process.wait(), 30)


async def spawn(**environ: str) -> asyncio.subprocess.Process:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
    ports = {"PENSTOCK_GATEWAY_GRPC_PORT": "0", "PENSTOCK_GATEWAY_HTTP_PORT": "0"}
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "penstock.gateway"),
        env=inherited | ports | environ,
        stderr=asyncio.subprocess.PIPE,
    )


@pytest.fixture
def nats(tmp_path: Path) -> Iterator[NatsServer]:
    server = NatsServer(tmp_path / "nats", durability="process")
    server.start()
    yield server
    server.stop()


async def test_it_serves_over_grpc_and_rest_and_stops_when_asked(nats: NatsServer) -> None:
    async with Gateway.running(nats.url) as gateway:
        await gateway.becomes(ready=True)

        info = await gateway.system.GetSystemInfo(pb.GetSystemInfoRequest(), timeout=10)
        assert (list(info.roles), info.nats.connected, info.nats.url) == (["gateway"], True, nats.url)
        assert info.nats.api_level > 0
        status, body = await gateway.get("/api/v1/system")
        assert (status, body["instance_id"], body["nats"]["version"]) == (
            200,
            info.instance_id,
            info.nats.version,
        )

        topology = await gateway.system.GetTopology(pb.GetTopologyRequest(), timeout=10)
        assert not any(stream.missing or stream.drift for stream in topology.streams)
        assert {stream.kind for stream in topology.streams} == {pb.STREAM_KIND_STREAM, pb.STREAM_KIND_BUCKET}
        status, body = await gateway.get("/api/v1/topology")
        assert status == 200
        assert [stream["name"] for stream in body["streams"]] == [stream.name for stream in topology.streams]

        assert await gateway.stop() == 0
    assert [line["event"] for line in gateway.log][-2:] == ["service.draining", "service.stopped"]


async def test_it_can_be_explored_by_reflection(nats: NatsServer) -> None:
    async with Gateway.running(nats.url) as gateway:
        stub = reflection_pb2_grpc.ServerReflectionStub(gateway.channel)
        request = reflection_pb2.ServerReflectionRequest(list_services="")
        answers = [answer async for answer in stub.ServerReflectionInfo(iter([request]), timeout=10)]
        names = {service.name for service in answers[0].list_services_response.service}
        assert {"penstock.v1.SystemService", "grpc.health.v1.Health"} <= names


async def test_it_waits_for_nats_answers_meanwhile_and_gets_ready_by_itself(tmp_path: Path) -> None:
    nats = NatsServer(tmp_path / "nats", durability="process")
    async with Gateway.running(nats.url) as gateway:
        await gateway.logged("nats.connecting")
        assert (await gateway.get("/health/live"))[0] == 200
        status, body = await gateway.get("/health/ready")
        assert (status, body["dependencies"][0]["name"], body["dependencies"][0]["ok"]) == (503, "nats", False)
        assert await gateway.health() == NOT_SERVING
        assert not (await gateway.system.GetSystemInfo(pb.GetSystemInfoRequest(), timeout=10)).nats.connected
        try:
            nats.start()
            await gateway.becomes(ready=True)
            assert (await gateway.get("/api/v1/topology"))[0] == 200
            assert await gateway.stop() == 0
        finally:
            nats.stop()


async def test_it_says_so_when_nats_goes_away_and_recovers_without_a_restart(nats: NatsServer) -> None:
    async with Gateway.running(nats.url) as gateway:
        await gateway.becomes(ready=True)
        nats.kill()
        await gateway.becomes(ready=False)

        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await gateway.system.GetTopology(pb.GetTopologyRequest(), timeout=10)
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        details = rpc_status.from_call(caught.value).details[0]  # type: ignore[arg-type] # has what it needs
        reason = error_details_pb2.ErrorInfo()
        assert details.Unpack(reason)
        assert reason.reason == Unavailable.code
        status, problem = await gateway.get("/api/v1/topology")
        assert (status, problem["code"], problem["retryable"]) == (503, Unavailable.code, True)

        nats.start()
        await gateway.becomes(ready=True)


async def test_it_stops_when_asked_even_while_it_waits_for_nats(tmp_path: Path) -> None:
    async with Gateway.running(NatsServer(tmp_path).url) as gateway:
        await gateway.logged("nats.connecting")
        assert await gateway.stop() == 0


async def test_what_waiting_cannot_mend_ends_it_with_the_reason(nats: NatsServer) -> None:
    async with Gateway.running(nats.url, PENSTOCK_FABRIC_SHARDS="2") as first:
        await first.logged("topology.ready")
    async with Gateway.running(nats.url, PENSTOCK_FABRIC_SHARDS="1") as second:
        assert await asyncio.wait_for(second.process.wait(), 30) == 1
    assert (await second.logged("service.failed"))["code"] == "SHARDS_FIXED"


async def test_a_second_gateway_on_the_same_port_is_refused(nats: NatsServer) -> None:
    async with Gateway.running(nats.url) as first:
        port = str((await first.logged("gateway.listening"))["grpc_port"])
        second = await spawn(PENSTOCK_NATS_URL=nats.url, PENSTOCK_GATEWAY_GRPC_PORT=port)
        _, said = await asyncio.wait_for(second.communicate(), 30)
        assert second.returncode == 1
        assert b"ADDRESS_UNAVAILABLE" in said


async def test_a_wrong_configuration_ends_it_with_code_2_and_a_plain_message() -> None:
    process = await spawn(PENSTOCK_FABRIC_SHARDS="many")
    _, said = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode == 2
    assert b"CONFIG_INVALID" in said
    assert b"PENSTOCK_FABRIC_SHARDS" in said
    assert b"Traceback" not in said
