"""The gRPC server: which services it has, its limits, and its own health service."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1.health import SERVICE_NAME as HEALTH_SERVICE
from grpc_health.v1.health import aio as health_aio  # type: ignore[attr-defined] # the stubs lack it
from grpc_reflection.v1alpha import reflection

from penstock.gateway.system import System
from penstock.gateway.system_grpc import SystemServicer
from penstock.kit.config import Config
from penstock.kit.errors import AddressUnavailable
from penstock.kit.grpc import EdgeInterceptor
from penstock.kit.health import Health
from penstock.v1 import system_pb2
from penstock.v1.system_pb2_grpc import add_SystemServiceServicer_to_server

SERVICES = [service.full_name for service in system_pb2.DESCRIPTOR.services_by_name.values()]
_MIRROR_EVERY = 1.0


class GrpcServer:
    def __init__(self, config: Config, system: System, health: Health) -> None:
        self._config = config
        self._health = health
        self._health_servicer = health_aio.HealthServicer()
        size = config.gateway.message_max
        self._server = grpc.aio.server(
            interceptors=[EdgeInterceptor()],
            options=[
                ("grpc.max_receive_message_length", size),
                ("grpc.max_send_message_length", size),
                ("grpc.so_reuseport", 0),  # or a second process would silently share the port
            ],
        )
        add_SystemServiceServicer_to_server(SystemServicer(system), self._server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health_servicer, self._server)
        reflection.enable_server_reflection([*SERVICES, HEALTH_SERVICE, reflection.SERVICE_NAME], self._server)
        self.port = 0

    async def __aenter__(self) -> Self:
        await self._say(ready=False)
        host, port = self._config.gateway.host, self._config.gateway.grpc_port
        try:
            self.port = self._server.add_insecure_port(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
        except RuntimeError as error:  # gRPC says no more than that it failed
            raise AddressUnavailable(host=host, port=port, reason="gRPC cannot bind it") from error
        await self._server.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._server.stop(None)

    async def drain(self) -> None:
        await self._health_servicer.enter_graceful_shutdown()
        await self._server.stop(self._config.service.grace)

    async def mirror_health(self) -> None:
        """The health service of gRPC is told, not asked: tell it what readiness says."""
        while True:
            await self._say(ready=(await self._health.readiness()).ready)
            await asyncio.sleep(_MIRROR_EVERY)

    async def _say(self, *, ready: bool) -> None:
        response = health_pb2.HealthCheckResponse
        for service in ("", *SERVICES):
            await self._health_servicer.set(service, response.SERVING if ready else response.NOT_SERVING)
