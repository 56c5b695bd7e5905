"""Creating, upgrading and describing the streams and buckets of an installation."""

from __future__ import annotations

from typing import Any

from penstock.fabric.errors import ShardsFixed, TopologyConflict
from penstock.fabric.jetstream.connection import Connection
from penstock.fabric.jetstream.declaration import SHARDS, Config, Declared, declare
from penstock.fabric.jetstream.replies import STREAM_NOT_FOUND, Refused
from penstock.fabric.ports.topology import Drift, StreamReport
from penstock.kit.config import FabricConfig

_FIXED = frozenset({"storage", "retention", "allow_msg_counter", "allow_msg_schedules", "persist_mode", "allow_atomic"})
"""What the server does not let anyone change once the stream is there (or only by losing something)."""


_OMITTED = {"persist_mode": "default"}
"""What the server leaves out because it is the default."""


class JetStreamTopology:
    def __init__(self, connection: Connection, config: FabricConfig) -> None:
        self._connection = connection
        self._config = config
        self._declared = declare(config, connection.names)

    async def ensure(self) -> list[str]:
        """Create what is missing and upgrade what differs; the names of what changed. Safe to repeat, and to race."""
        found = {declared.name: await self._info(declared.name) for declared in self._declared}
        await self._check_shards(found)
        for declared in self._declared:  # all before anything changes
            _check_fixed(declared, found[declared.name])
        changed = []
        for declared in self._declared:
            info = found[declared.name]
            if info is None:
                await self._create(declared)
                changed.append(declared.name)
            elif _drift(declared, info["config"]):
                await self._update(declared, info["config"])
                changed.append(declared.name)
        return changed

    async def describe(self) -> list[StreamReport]:
        return [_report(declared, await self._info(declared.name)) for declared in self._declared]

    async def _check_shards(self, found: dict[str, dict[str, Any] | None]) -> None:
        """A run's shard is its hash modulo their number: another number would lose every run there is."""
        installed = {
            int(shards)
            for info in found.values()
            if info and (shards := (info["config"].get("metadata") or {}).get(SHARDS))
        }
        asked = self._config.shards
        if installed <= {asked} or await self._is_empty(max(installed)):
            return
        raise ShardsFixed(installed=max(installed), asked=asked)

    async def _is_empty(self, installed: int) -> bool:
        """Growing an installation that has never run anything loses nothing; shrinking would leave streams behind."""
        if self._config.shards < installed:
            return False
        names = self._connection.names
        infos = [await self._info(names.log_stream(shard)) for shard in range(installed)]
        infos += [await self._info(names.command_stream(shard)) for shard in range(installed)]
        return all(info is None or info["state"]["last_seq"] == 0 for info in infos)

    async def _info(self, stream: str) -> dict[str, Any] | None:
        try:
            return await self._connection.persist(lambda: self._connection.api(f"STREAM.INFO.{stream}"))
        except Refused as refused:
            if refused.number == STREAM_NOT_FOUND:
                return None
            raise refused.as_error() from refused

    async def _create(self, declared: Declared) -> None:
        await self._change("CREATE", declared.name, declared.config)

    async def _update(self, declared: Declared, actual: Config) -> None:
        metadata = (actual.get("metadata") or {}) | declared.config["metadata"]
        await self._change("UPDATE", declared.name, actual | declared.config | {"metadata": metadata})

    async def _change(self, verb: str, stream: str, config: Config) -> None:
        try:
            await self._connection.persist(lambda: self._connection.api(f"STREAM.{verb}.{stream}", config))
        except Refused as refused:
            raise refused.as_error() from refused


def _drift(declared: Declared, actual: Config) -> list[Drift]:
    """Only what we declare counts: an operator may add placement, compression or a description."""
    drift = []
    for field, wanted in declared.config.items():
        found = actual.get(field)
        if field == "metadata":
            found = {key: (found or {}).get(key) for key in wanted}
        if found is None:
            found = _OMITTED.get(field)
        if found != wanted:
            drift.append(Drift(field, str(wanted), str(found)))
    return drift


def _check_fixed(declared: Declared, info: dict[str, Any] | None) -> None:
    for difference in _drift(declared, info["config"]) if info else ():
        if difference.field in _FIXED:
            raise TopologyConflict(
                stream=declared.name, field=difference.field, declared=difference.declared, actual=difference.actual
            )


def _report(declared: Declared, info: dict[str, Any] | None) -> StreamReport:
    config = info["config"] if info else declared.config
    state = info["state"] if info else {"messages": 0, "bytes": 0}
    return StreamReport(
        name=declared.name,
        kind=declared.kind,
        subjects=list(config["subjects"]),
        replicas=config["num_replicas"],
        retention=config["retention"],
        messages=state["messages"],
        bytes=state["bytes"],
        drift=_drift(declared, config) if info else [],
        missing=info is None,
    )
