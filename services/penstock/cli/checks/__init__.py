"""What `penstock doctor` looks at, one module per thing it asks."""

from __future__ import annotations

import asyncio

from penstock.cli.checks import expressions, machine, nats, postgres, services
from penstock.cli.checks.finding import Finding, Patient

_CHECKS = (machine.check, nats.check, postgres.check, services.check, expressions.check)


async def examine(patient: Patient) -> list[Finding]:
    """All at once; reported in the order above."""
    found = await asyncio.gather(*(check(patient) for check in _CHECKS))
    return [finding for findings in found for finding in findings]
