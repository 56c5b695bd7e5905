"""Which children `penstock dev` runs, on which ports, and what it tells each of them."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from penstock.cli.roles import Role
from penstock.embedded.errors import PortTaken
from penstock.embedded.nats import Durability, NatsServer
from penstock.embedded.ports import LOOPBACK, free_port, is_free
from penstock.embedded.postgres import PostgresServer
from penstock.embedded.program import Program
from penstock.embedded.stack import Service, Stack
from penstock.embedded.supervisor import Child, Report
from penstock.kit.config import ENV_FILE, env_name, load
from penstock.kit.redact import redact

_CONNECT_TIMEOUT = 0.2


class Wanted(msgspec.Struct, frozen=True):
    """What was asked for on the command line."""

    data: Path
    durability: Durability
    roles: Sequence[Role]
    nats: str | None = None
    """Of a server that already runs."""
    postgres: str | None = None
    ports: Mapping[str, int] = {}
    """By server, or by setting for the ports of a role."""
    config: Path | None = None


class RoleChild:
    """A role as a child: `python -m` its module, told everything through the environment."""

    def __init__(self, role: Role, settings: Mapping[str, str], environment: Mapping[str, str]) -> None:
        self.name = role.name
        self._module = role.module
        self._ports = [int(settings[key]) for key in role.ports]
        self._telemetry = free_port()
        told = {**settings, "telemetry.port": str(self._telemetry)}
        self._environment = {**environment, **{env_name(key): value for key, value in told.items()}}

    @property
    def address(self) -> str:
        return " ".join(f"{LOOPBACK}:{port}" for port in self._ports)

    def program(self) -> Program:
        return Program((sys.executable, "-m", self._module), env=self._environment)

    def ready(self, pid: int) -> bool:  # noqa: ARG002 - it is the only one with these ports
        return all(_answers(port) for port in (self._telemetry, *self._ports))


class _Part(NamedTuple):
    """One line of the table: a child of ours, or a server that already runs."""

    name: str
    address: str
    data: Path | None = None
    child: Child | None = None


class Assembly:
    """Built once per start; creates the data of Postgres when there is none, which takes a second."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._given = load(os.environ, wanted.config)
        self._nats: NatsServer | None = None
        self.settings: dict[str, str] = {}
        servers = [self._nats_part(), self._postgres_part()]
        for key in (key for role in wanted.roles for key in role.ports):
            self.settings[key] = str(self._role_port(key))
        self._parts = [*servers, *map(self._role_part, wanted.roles)]

    @property
    def children(self) -> list[Child]:
        return [part.child for part in self._parts if part.child is not None]

    def stack(self, reports: Sequence[Report]) -> Stack:
        by_name = {report.name: report for report in reports}
        return Stack(
            pid=os.getpid(),
            ready=all(report.status == "ready" for report in reports),
            durability=self._wanted.durability,
            settings=self.settings,
            services=tuple(_describe(part, by_name.get(part.name)) for part in self._parts),
            nats_monitor=self._nats.monitor_url if self._nats else None,
        )

    def _nats_part(self) -> _Part:
        if self._wanted.nats is not None:
            self.settings["nats.url"] = self._wanted.nats
            return _Part("nats", redact(self._wanted.nats))
        data = self._wanted.data / "nats"
        self._nats = NatsServer(data, port=self._server_port("nats"), durability=self._wanted.durability)
        self.settings["nats.url"] = self._nats.url
        return _Part("nats", f"{LOOPBACK}:{self._nats.port}", data, self._nats)

    def _postgres_part(self) -> _Part:
        if self._wanted.postgres is not None:
            self.settings["postgres.dsn"] = self._wanted.postgres
            return _Part("postgres", redact(self._wanted.postgres))
        data = self._wanted.data / "postgres"
        server = PostgresServer(data, port=self._server_port("postgres"))
        server.prepare()
        self.settings["postgres.dsn"] = server.dsn
        return _Part("postgres", f"{LOOPBACK}:{server.port}", data, server)

    def _role_part(self, role: Role) -> _Part:
        environment = {ENV_FILE: str(self._wanted.config.resolve())} if self._wanted.config else {}
        if "log.format" not in self._given.sources:  # a pipe to us, but people read it
            environment[env_name("log.format")] = "console"
        child = RoleChild(role, self.settings, environment)
        return _Part(role.name, child.address, child=child)

    def _server_port(self, server: str) -> int:
        return _checked(server, self._wanted.ports.get(server))

    def _role_port(self, key: str) -> int:
        section, _, field = key.partition(".")
        configured = getattr(getattr(self._given.config, section), field) if key in self._given.sources else None
        return _checked(section, self._wanted.ports.get(key, configured))


def _checked(server: str, port: int | None) -> int:
    if not port:
        return free_port()
    if not is_free(port):
        raise PortTaken(port=port, server=server)
    return port


def _describe(part: _Part, report: Report | None) -> Service:
    data = str(part.data) if part.data else None
    if part.child is None:
        return Service(part.name, part.address, "external", "external")
    if report is None:
        return Service(part.name, part.address, "child", "stopped", data=data)
    return Service(part.name, part.address, "child", report.status, report.pid, data, report.restarts)


def _answers(port: int) -> bool:
    try:
        socket.create_connection((LOOPBACK, port), _CONNECT_TIMEOUT).close()
    except OSError:
        return False
    return True
