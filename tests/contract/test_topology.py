"""Creating, upgrading and describing an installation, on a real server."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from penstock.core.model.commit import RunKey
from penstock.embedded.nats import NatsServer
from penstock.fabric.errors import ShardsFixed, TopologyConflict
from penstock.fabric.jetstream.commands import JetStreamCommands
from penstock.fabric.jetstream.declaration import Declared, declare
from penstock.fabric.jetstream.topology import JetStreamTopology
from penstock.fabric.naming import Names
from penstock.kit.config import FabricConfig
from tests.contract.conftest import Fabric, install


def topology(fabric: Fabric, **changes: object) -> JetStreamTopology:
    return JetStreamTopology(fabric.connection, msgspec.structs.replace(fabric.config, **changes))


async def test_everything_declared_is_there_and_as_declared(fabric: Fabric) -> None:
    reports = await topology(fabric).describe()
    assert [report.name for report in reports] == [
        declared.name for declared in declare(fabric.config, fabric.connection.names)
    ]
    assert not [report.name for report in reports if report.missing or report.drift]


async def test_ensuring_twice_changes_nothing(fabric: Fabric) -> None:
    assert await topology(fabric).ensure() == []


async def test_many_may_install_at_once(nats_server: NatsServer) -> None:
    async with install(nats_server) as fabric:
        for declared in declare(fabric.config, fabric.connection.names):
            await fabric.connection.api(f"STREAM.DELETE.{declared.name}")
        await asyncio.gather(*(topology(fabric).ensure() for _ in range(4)))
        assert await topology(fabric).ensure() == []


async def test_a_missing_stream_is_reported_and_made_again(fabric: Fabric) -> None:
    name = fabric.connection.names.tasks
    await fabric.connection.api(f"STREAM.DELETE.{name}")
    (report,) = [report for report in await topology(fabric).describe() if report.missing]
    assert report.name == name
    assert await topology(fabric).ensure() == [name]


async def test_drift_is_reported_and_repaired(fabric: Fabric) -> None:
    name = fabric.connection.names.tasks
    config = (await fabric.connection.api(f"STREAM.INFO.{name}"))["config"]
    await fabric.connection.api(f"STREAM.UPDATE.{name}", config | {"max_msgs_per_subject": 2})
    (report,) = [report for report in await topology(fabric).describe() if report.drift]
    (drift,) = report.drift
    assert (report.name, drift.field, drift.declared, drift.actual) == (name, "max_msgs_per_subject", "1", "2")
    assert await topology(fabric).ensure() == [name]
    assert await topology(fabric).ensure() == []


async def test_what_an_operator_adds_is_left_alone(fabric: Fabric) -> None:
    name = fabric.connection.names.blobs
    config = (await fabric.connection.api(f"STREAM.INFO.{name}"))["config"]
    await fabric.connection.api(f"STREAM.UPDATE.{name}", config | {"description": "ours", "max_bytes": 10**9})
    assert await topology(fabric).ensure() == []


async def test_a_stream_that_cannot_become_what_we_need_is_a_typed_error(fabric: Fabric) -> None:
    name = fabric.connection.names.tasks
    await fabric.connection.api(f"STREAM.DELETE.{name}")
    subjects = [f"{fabric.config.prefix}.task.>"]
    await fabric.connection.api(f"STREAM.CREATE.{name}", {"name": name, "subjects": subjects, "storage": "memory"})
    with pytest.raises(TopologyConflict) as caught:
        await topology(fabric).ensure()
    assert caught.value.attributes["stream"] == name
    assert caught.value.attributes["field"] in {"storage", "retention"}


async def test_more_replicas_are_refused_before_anything_changes(fabric: Fabric) -> None:
    """Tasks and timers written without waiting for the disk cannot be replicated."""
    with pytest.raises(TopologyConflict) as caught:
        await topology(fabric, replicas=3).ensure()
    assert caught.value.attributes["field"] == "persist_mode"
    assert await topology(fabric).ensure() == []


async def test_shards_cannot_become_fewer(fabric: Fabric) -> None:
    with pytest.raises(ShardsFixed) as caught:
        await topology(fabric, shards=1).ensure()
    assert caught.value.attributes == {"installed": 2, "asked": 1}


async def test_shards_can_become_more_only_while_nothing_ever_ran(fabric: Fabric) -> None:
    await topology(fabric, shards=3).ensure()
    await JetStreamCommands(fabric.connection).send(RunKey("acme", "r"), "c-1", b"start")
    with pytest.raises(ShardsFixed):
        await topology(fabric, shards=4).ensure()


def test_sacred_streams_refuse_rather_than_forget(fabric_config: FabricConfig) -> None:
    by_name = {declared.name: declared.config for declared in _declared(fabric_config)}
    for name in ("PS_LOG_0", "PS_CMD_0", "PS_BLOB", "KV_ps_def", "KV_ps_idem"):
        assert by_name[name]["discard"] == "new"
    assert by_name["PS_LOG_0"]["deny_delete"] is True


@pytest.mark.parametrize(("replicas", "mode"), [(1, "async"), (3, "default")])
def test_only_derived_streams_on_a_single_server_skip_the_disk(replicas: int, mode: str) -> None:
    config = msgspec.convert({"replicas": replicas}, FabricConfig)
    modes = {declared.name: declared.config.get("persist_mode") for declared in _declared(config)}
    derived = {name for name in modes if "_TASK" in name or "_TIMER_" in name}
    assert {modes[name] for name in derived} == {mode}
    assert {modes[name] for name in modes.keys() - derived} == {None}


@pytest.fixture
def fabric_config() -> FabricConfig:
    return FabricConfig()


def _declared(config: FabricConfig) -> list[Declared]:
    return declare(config, Names(config.prefix, config.shards))
