"""Timers: most fire from memory, those that live longer from the server."""

from __future__ import annotations

import pytest

from tests.integration.coordinator.stage import Stage, chain


@pytest.mark.parametrize("promote_after", [5.0, 0.01], ids=["in memory", "on the server"])
async def test_a_wait_ends_when_its_time_is_come(stage: Stage, promote_after: float) -> None:
    wait = {"id": "w", "type": "wait", "wait": {"duration": "50ms"}}
    async with stage.coordinator(promote_after=promote_after), stage.worker():
        key = await stage.start(chain(wait, "a"))
        await stage.closed(key)
        assert await stage.outcome(key) == "completed"
        first, *_, last = await stage.ports.log.read(key)
        assert last.commit.at - first.commit.at >= 50_000
        await stage.verify(key)
