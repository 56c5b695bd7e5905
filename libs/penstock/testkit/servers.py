"""Real servers for tests: a NATS cluster on loopback. Knows no test framework."""

from __future__ import annotations

from pathlib import Path
from signal import SIGTERM
from types import TracebackType
from typing import Self

from penstock.embedded import monitor
from penstock.embedded.nats import ClusterRoutes, Durability, NatsServer
from penstock.embedded.ports import free_ports
from penstock.testkit.eventually import eventually_sync


class NatsCluster:
    """Nodes that know each other. `start` returns when they agree on a JetStream leader."""

    def __init__(self, data: Path, nodes: int = 3, *, durability: Durability = "process") -> None:
        ports = free_ports(2 * nodes)
        clients, routes = ports[:nodes], tuple(ports[nodes:])
        self.nodes = [
            NatsServer(
                data / f"n{i}",
                name=f"n{i}",
                port=clients[i],
                durability=durability,
                cluster=ClusterRoutes("penstock", routes[i], routes),
            )
            for i in range(nodes)
        ]

    @property
    def urls(self) -> list[str]:
        return [node.url for node in self.nodes]

    def start(self, timeout: float = 30.0) -> None:
        for node in self.nodes:
            node.launch()
        for node in self.nodes:
            node.await_ready(timeout)
        self.await_leader(timeout)

    def await_leader(self, timeout: float = 30.0) -> None:
        """Until every running node follows the same leader and has caught up."""
        eventually_sync(self._agreed, timeout)

    def restart(self, index: int, timeout: float = 30.0) -> None:
        self.nodes[index].start(timeout)
        self.await_leader(timeout)

    def kill(self, index: int) -> None:
        self.nodes[index].kill()

    def stop(self) -> None:
        for node in self.nodes:
            node.signal(SIGTERM)
        for node in self.nodes:
            node.stop()

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _agreed(self) -> bool:
        running = [node for node in self.nodes if node.running]
        leaders = {_leader(node) for node in running}
        return len(leaders) == 1 and None not in leaders and all(map(_healthy, running))


def _leader(node: NatsServer) -> str | None:
    leader: str | None = (monitor.page(node.monitor_url, "jsz") or {}).get("meta_cluster", {}).get("leader")
    return leader


def _healthy(node: NatsServer) -> bool:
    return monitor.page(node.monitor_url, "healthz") is not None
