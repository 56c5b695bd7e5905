"""Coordinators that die, wake up late, or stop in order: nothing is lost, nothing is applied twice."""

from __future__ import annotations

import asyncio

from penstock.core.model import commands as c
from penstock.coordinator.coordinator import Coordinator
from penstock.testkit.eventually import eventually
from tests.integration.coordinator.stage import Stage, chain


async def test_what_one_coordinator_left_undone_the_next_one_does(stage: Stage) -> None:
    async with stage.worker() as given:
        async with stage.coordinator():
            keys = [await stage.start(chain("a", "b", "c")) for _ in range(40)]
            await eventually(lambda: len(given) >= 30)
        async with stage.coordinator():
            await stage.closed(*keys)
        await stage.verify(*keys)
        assert len(given) == 120


async def test_a_timer_in_the_memory_of_one_that_died_fires_in_the_next(stage: Stage) -> None:
    wait = {"id": "w", "type": "wait", "wait": {"duration": "300ms"}}
    async with stage.worker():
        async with stage.coordinator(), stage.inbox() as (inbox, replies):
            key = await stage.start(chain(wait, "a"), reply=inbox)
            await replies.get()
        async with stage.coordinator():
            await stage.closed(key)
        await stage.verify(key)


async def test_a_former_owner_is_shut_out(stage: Stage) -> None:
    async with stage.worker(), stage.coordinator() as former:
        holdings = list(former.ownership.held.values())
        async with stage.coordinator():
            keys = [await stage.start(chain("a", "b")) for _ in range(20)]
            await stage.closed(*keys)
            await asyncio.wait_for(asyncio.gather(*(holding.lost.wait() for holding in holdings)), 30)
        await stage.verify(*keys)


async def test_one_that_stops_in_order_leaves_nothing_for_the_lease_to_run_out(stage: Stage) -> None:
    async with stage.worker(), stage.coordinator("first") as first:
        keys = [await stage.start(chain("a", "b", "c")) for _ in range(20)]
        await first.ownership.close()
        tenures = await stage.ports.owners.tenures()
        assert [tenure.owner for tenure in tenures.values()] == [None, None]
    async with stage.worker(), stage.coordinator("second"):
        await stage.closed(*keys)
        await stage.verify(*keys)
