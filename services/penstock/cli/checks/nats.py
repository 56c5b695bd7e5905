"""NATS: reachable and new enough, JetStream, durability, streams as declared, clock."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

import msgspec

from penstock.cli.checks import clock
from penstock.cli.checks.finding import Finding, Patient, failed, ok
from penstock.core.errors import PenstockError
from penstock.embedded import monitor
from penstock.fabric.errors import Unavailable
from penstock.fabric.jetstream.connection import Connection
from penstock.fabric.jetstream.topology import JetStreamTopology
from penstock.fabric.naming import Names
from penstock.fabric.ports.topology import StreamReport
from penstock.kit.clock import now
from penstock.kit.redact import redact

_PATIENCE = 2.0
_SCHEDULES_LEVEL = 2
"""Of the JetStream API, with nats-server 2.12: schedules, counters, atomic batches."""


async def check(patient: Patient) -> list[Finding]:
    config = msgspec.structs.replace(patient.config.nats, request_timeout=_PATIENCE, retry_for=_PATIENCE)
    fabric = patient.config.fabric
    try:
        async with asyncio.timeout(2 * _PATIENCE):
            connection = await Connection.open(config, Names(fabric.prefix, fabric.shards), name="doctor")
    except (Unavailable, TimeoutError):
        fix = "Start one with `penstock dev`, or name the right one with `--nats`."
        return [Finding("nats", "fail", f"no answer from {redact(config.url)}", fix)]
    except PenstockError as error:
        return [failed("nats", error)]
    try:
        server = connection.server
        return [ok("nats", f"{server.version} at {server.url}"), *await _jetstream(connection, patient)]
    finally:
        await connection.close()


async def _jetstream(connection: Connection, patient: Patient) -> list[Finding]:
    try:
        account = await connection.api("INFO")
        reports = await JetStreamTopology(connection, patient.config.fabric).describe()
    except Unavailable:
        fix = "Start nats-server with `jetstream` enabled, also for the account used here."
        return [Finding("jetstream", "fail", "does not answer", fix)]
    except PenstockError as error:
        return [failed("jetstream", error)]
    url = patient.monitor or (patient.stack.nats_monitor if patient.stack else None)
    before = now()
    varz = await asyncio.to_thread(monitor.page, url, "varz")
    after = now()
    findings = [level(account["api"].get("level", 0)), topology(reports), durability(varz)]
    if varz is not None:
        findings.append(clock.compare("nats", clock.instant(datetime.fromisoformat(varz["now"])), before, after))
    return findings


def level(found: int) -> Finding:
    if found >= _SCHEDULES_LEVEL:
        return ok("jetstream", f"API level {found}")
    return Finding("jetstream", "fail", f"API level {found}", "Upgrade every node to nats-server 2.12 or later.")


def topology(reports: list[StreamReport]) -> Finding:
    missing = [report.name for report in reports if report.missing]
    drifted = [
        f"{report.name}.{drift.field} is {drift.actual}, declared {drift.declared}"
        for report in reports
        for drift in report.drift
    ]
    if drifted:
        fix = "A service upgrades what it can when it starts; for the rest see the error TOPOLOGY_CONFLICT."
        return Finding("streams", "warn", "; ".join(drifted), fix)
    if missing:
        return Finding("streams", "warn", f"missing: {', '.join(missing)}", "Start a service: it creates them.")
    return ok("streams", f"{len(reports)} as declared")


def durability(varz: dict[str, Any] | None) -> Finding:
    if varz is None:
        fix = "Give the monitoring address of nats-server with `--nats-monitor`."
        return Finding("durability", "warn", "unknown: the server tells it on its monitoring port only", fix)
    if varz.get("jetstream", {}).get("config", {}).get("sync_always"):
        return ok("durability", "power: what is acknowledged is on disk")
    fix = "Set `sync_interval: always` in the server's `jetstream` block (`penstock dev --durability power`)."
    return Finding("durability", "warn", "process: a power cut can lose what was acknowledged", fix)
