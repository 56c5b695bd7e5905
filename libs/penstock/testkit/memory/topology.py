"""Topology in memory: the same declaration, and the same refusals, without a server."""

from __future__ import annotations

from penstock.fabric.errors import ShardsFixed
from penstock.fabric.jetstream.declaration import Declared, declare
from penstock.fabric.naming import Names
from penstock.fabric.ports.topology import StreamReport
from penstock.kit.config import FabricConfig


class MemoryTopology:
    """`installed` is shared by everyone who looks at the same installation."""

    def __init__(self, config: FabricConfig, installed: dict[str, Declared]) -> None:
        self._config = config
        self._declared = declare(config, Names(config.prefix, config.shards))
        self.installed = installed

    async def ensure(self) -> list[str]:
        names = Names(self._config.prefix, self._config.shards)
        installed = sum(name.startswith(names.log_stream(0)[:-1]) for name in self.installed)
        if installed > self._config.shards:
            raise ShardsFixed(installed=installed, asked=self._config.shards)
        changed = [declared for declared in self._declared if self.installed.get(declared.name) != declared]
        self.installed.update({declared.name: declared for declared in changed})
        return [declared.name for declared in changed]

    async def describe(self) -> list[StreamReport]:
        return [
            StreamReport(
                name=declared.name,
                kind=declared.kind,
                subjects=list(declared.config["subjects"]),
                replicas=declared.config["num_replicas"],
                retention=declared.config["retention"],
                messages=0,
                bytes=0,
                drift=[],
                missing=declared.name not in self.installed,
            )
            for declared in self._declared
        ]
