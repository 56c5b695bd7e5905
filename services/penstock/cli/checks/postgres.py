"""Postgres: reachable, new enough, clock."""

from __future__ import annotations

import asyncpg

from penstock.cli.checks import clock
from penstock.cli.checks.finding import Finding, Patient, ok
from penstock.kit.clock import now
from penstock.kit.redact import redact

_PATIENCE = 3.0
_OLDEST = 14
_MAJOR = 10_000
_FIX = "Start one with `penstock dev`, or name the right one with `--postgres`. Runs go on without it."


async def check(patient: Patient) -> list[Finding]:
    dsn = patient.config.postgres.dsn
    try:
        connection = await asyncpg.connect(dsn, timeout=_PATIENCE, command_timeout=_PATIENCE)
    except (OSError, TimeoutError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        reason = redact(str(error)) or type(error).__name__
        return [Finding("postgres", "fail", f"{redact(dsn)}: {reason}", _FIX)]
    try:
        number = int(await connection.fetchval("SHOW server_version_num"))
        before = now()
        theirs = await connection.fetchval("SELECT clock_timestamp()")
        after = now()
    finally:
        await connection.close(timeout=_PATIENCE)
    return [version(number), clock.compare("postgres", clock.instant(theirs), before, after)]


def version(number: int) -> Finding:
    major, minor = divmod(number, _MAJOR)
    if major >= _OLDEST:
        return ok("postgres", f"{major}.{minor}")
    return Finding("postgres", "fail", f"{major}.{minor}", f"Upgrade to Postgres {_OLDEST} or later.")
