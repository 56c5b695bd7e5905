"""What runs here, and whether the streams under it are what they should be. Knows no wire format."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from typing import Protocol, Self

import msgspec

from penstock.core.model.time import SECOND
from penstock.fabric.ports.topology import StreamReport, Topology
from penstock.kit.lifecycle import Service


class Identity(msgspec.Struct, frozen=True):
    """What a process knows about itself from its start."""

    version: str
    build: str
    python: str
    instance_id: str
    roles: list[str]
    start_time: datetime

    @classmethod
    def of(cls, service: Service) -> Self:
        return cls(
            version=service.version,
            build=service.config.service.build,
            python=platform.python_version(),
            instance_id=service.instance,
            roles=[service.role],
            start_time=datetime.fromtimestamp(service.started_at / SECOND, UTC),
        )


class NatsInfo(msgspec.Struct, frozen=True):
    """The server a process is connected to, or was last."""

    connected: bool
    url: str
    version: str = ""
    api_level: int = 0
    cluster: str = ""


class Fabric(Protocol):
    """What these calls need of NATS."""

    def nats(self) -> NatsInfo: ...

    def topology(self) -> Topology:
        """Raises `Unavailable` while NATS is away."""
        ...


class SystemInfo(msgspec.Struct, frozen=True):
    identity: Identity
    nats: NatsInfo


class System:
    def __init__(self, identity: Identity, fabric: Fabric) -> None:
        self._identity = identity
        self._fabric = fabric

    def info(self) -> SystemInfo:
        return SystemInfo(self._identity, self._fabric.nats())

    async def topology(self) -> list[StreamReport]:
        return await self._fabric.topology().describe()
