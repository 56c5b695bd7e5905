"""The gateway's life cycle: the edge listens first, NATS is connected behind it.

So health and system calls answer while NATS is away, and say so.
"""

from __future__ import annotations

import structlog

from penstock.gateway import system_rest
from penstock.gateway.grpc_server import GrpcServer
from penstock.gateway.link import Link
from penstock.gateway.system import Identity, System
from penstock.kit import http
from penstock.kit.lifecycle import Service

log = structlog.get_logger()


async def start(service: Service) -> None:
    config = service.config
    link = await service.enter(Link(config, name=f"gateway-{service.instance}"))
    service.health.register("nats", link.check)
    system = System(Identity.of(service), link)

    grpc_server = await service.enter(GrpcServer(config, system, service.health))
    service.on_drain(grpc_server.drain)
    http_server = await service.enter(
        http.serving(
            [*system_rest.routes(system), *http.health_routes(service.health)],
            config.gateway.host,
            config.gateway.http_port,
            body_max=config.gateway.message_max,
            grace=config.service.grace,
        )
    )
    service.on_drain(http_server.drain)

    service.spawn(grpc_server.mirror_health(), "health")
    service.spawn(link.connect(), "connect")
    log.info(
        "gateway.listening",
        address=config.gateway.host,
        grpc_port=grpc_server.port,
        http_port=http_server.port,
    )
