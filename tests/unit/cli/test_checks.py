from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.cli.checks import clock, expressions, machine, nats, postgres, services
from penstock.cli.checks.finding import Finding, Patient, Status
from penstock.core.model.time import SECOND, Instant
from penstock.embedded.stack import Service
from penstock.fabric.ports.topology import Drift, StreamReport
from penstock.kit.config import Config, GatewayConfig

GIB = 1024**3
NOW = Instant(1_800_000_000 * SECOND)


def stream(*, missing: bool = False, drift: list[Drift] | None = None) -> StreamReport:
    return StreamReport("PS_LOG_0", "stream", ["ps.log.0.>"], 1, "limits", 0, 0, drift or [], missing)


def at(seconds: float) -> Instant:
    return Instant(NOW + int(seconds * SECOND))


def compared(theirs: float, took: float = 0.01) -> Finding:
    return clock.compare("nats", at(theirs), NOW, at(took))


def child(status: str = "ready", restarts: int = 0) -> Finding:
    return services.child(Service("nats", "127.0.0.1:4222", "child", status, 1, None, restarts))


def synced(always: bool) -> dict[str, Any]:
    return {"jetstream": {"config": {"sync_always": always}}}


@pytest.mark.parametrize(
    ("finding", "status"),
    [
        pytest.param(machine.python((3, 11)), "ok", id="oldest python"),
        pytest.param(machine.python((3, 10)), "fail", id="too old a python"),
        pytest.param(machine.python((3, 15)), "fail", id="a python we do not know"),
        pytest.param(machine.disk(Path("/d"), 50 * GIB), "ok", id="much room"),
        pytest.param(machine.disk(Path("/d"), 2 * GIB), "warn", id="little room"),
        pytest.param(machine.disk(Path("/d"), GIB // 2), "fail", id="no room"),
        pytest.param(nats.level(2), "ok", id="2.12 API"),
        pytest.param(nats.level(1), "fail", id="2.11 API"),
        pytest.param(nats.durability(synced(always=True)), "ok", id="synced"),
        pytest.param(nats.durability(synced(always=False)), "warn", id="not synced"),
        pytest.param(nats.durability(None), "warn", id="no monitoring"),
        pytest.param(nats.topology([stream()]), "ok", id="as declared"),
        pytest.param(nats.topology([stream(missing=True)]), "warn", id="not created yet"),
        pytest.param(nats.topology([stream(drift=[Drift("num_replicas", "3", "1")])]), "warn", id="drifted"),
        pytest.param(postgres.version(180004), "ok", id="new postgres"),
        pytest.param(postgres.version(130012), "fail", id="old postgres"),
        pytest.param(compared(0.005), "ok", id="same time"),
        pytest.param(compared(-0.5), "ok", id="half a second"),
        pytest.param(compared(1.0, took=5.0), "ok", id="within a slow answer"),
        pytest.param(compared(-2.0), "warn", id="behind"),
        pytest.param(compared(60.0), "fail", id="far ahead"),
        pytest.param(compared(0.0, took=-1.0), "fail", id="our clock went backwards"),
        pytest.param(child(), "ok", id="child ready"),
        pytest.param(child(restarts=2), "warn", id="child restarted"),
        pytest.param(child("waiting"), "fail", id="child down"),
        pytest.param(expressions.engines(["celpy"]), "ok", id="an engine"),
        pytest.param(expressions.engines([]), "fail", id="no engine"),
    ],
)
def test_a_finding_fits_what_was_found_and_says_what_to_do(finding: Finding, status: Status) -> None:
    assert finding.status == status
    assert bool(finding.fix) is (status != "ok")


async def test_without_a_stack_the_ports_services_need_are_looked_at(tmp_path: Path) -> None:
    config = Config(gateway=GatewayConfig(grpc_port=0, http_port=0))
    findings = await services.check(Patient(config, tmp_path))
    assert [finding.status for finding in findings] == ["ok", "ok"]
