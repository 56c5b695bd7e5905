"""What both adapters of the topology promise."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from penstock.fabric.errors import ShardsFixed
from penstock.fabric.jetstream.declaration import Declared
from penstock.fabric.jetstream.topology import JetStreamTopology
from penstock.fabric.ports.topology import Topology
from penstock.kit.config import FabricConfig
from penstock.testkit.memory.topology import MemoryTopology
from tests.contract.conftest import Fabric

Build = Callable[[FabricConfig], Topology]


@pytest.fixture(params=["memory", "jetstream"])
def build(request: pytest.FixtureRequest, fabric: Fabric) -> Build:
    installed: dict[str, Declared] = {}
    if request.param == "memory":
        return lambda config: MemoryTopology(config, installed)
    return lambda config: JetStreamTopology(fabric.connection, config)


async def test_what_is_ensured_is_described_as_there(build: Build, fabric: Fabric) -> None:
    await build(fabric.config).ensure()
    reports = await build(fabric.config).describe()
    assert reports
    assert not [report.name for report in reports if report.missing or report.drift]
    assert await build(fabric.config).ensure() == []


async def test_fewer_shards_are_refused(build: Build, fabric: Fabric) -> None:
    await build(fabric.config).ensure()
    with pytest.raises(ShardsFixed) as caught:
        await build(msgspec.structs.replace(fabric.config, shards=1)).ensure()
    assert caught.value.attributes == {"installed": 2, "asked": 1}
