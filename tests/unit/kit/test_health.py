from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from penstock.core.model.time import SECOND, Instant
from penstock.kit.errors import AddressUnavailable
from penstock.kit.health import Health


class Clock:
    def __init__(self) -> None:
        self.seconds = 0

    def __call__(self) -> Instant:
        return Instant(self.seconds * SECOND)


async def fine() -> str:
    return "fine"


async def never() -> str:
    await asyncio.Event().wait()
    return "unreachable"


async def broken() -> str:
    raise AddressUnavailable(host="h", port=1, reason="r")


async def leaky() -> str:
    raise OSError("secret")


async def test_a_process_is_ready_only_while_serving() -> None:
    health = Health()
    health.register("nats", fine)
    seen = []
    for phase in ("starting", "serving", "draining"):
        health.phase = phase
        seen.append((await health.readiness()).ready)
    assert seen == [False, True, False]


async def test_one_dependency_that_fails_or_does_not_answer_is_enough_and_is_named() -> None:
    health = Health()
    health.phase = "serving"
    health.register("fine", fine)
    health.register("slow", never, timeout=0.001)
    health.register("broken", broken)
    health.register("leaky", leaky)
    report = await health.readiness()
    assert not report.ready
    assert [dependency.ok for dependency in report.dependencies] == [True, False, False, False]
    assert AddressUnavailable.code in report.dependencies[2].detail
    assert "secret" not in report.dependencies[3].detail


async def test_since_is_when_the_answer_last_changed() -> None:
    clock, up = Clock(), True
    health = Health(clock)

    async def check() -> str:
        return "up" if up else await broken()

    health.register("nats", check)
    since = []
    for second, state in enumerate([True, True, False, False, True]):
        clock.seconds, up = second, state
        since.append((await health.readiness()).dependencies[0].since)
    assert since == [datetime.fromtimestamp(second, UTC) for second in (0, 0, 2, 2, 4)]
