"""Coordinators that die, wake up late, or stop in order: nothing is lost, nothing is applied twice."""

from __future__ import annotations

import asyncio

from penstock.testkit.eventually import eventually
from tests.contract.conftest import OwnServer
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


async def test_a_former_owner_is_shut_out_in_the_middle_of_its_work(stage: Stage) -> None:
    async with stage.worker() as given, stage.coordinator() as former:
        holdings = former.holdings
        keys = [await stage.start(chain("a", "b", "c")) for _ in range(40)]
        await eventually(lambda: len(given) >= 20)
        await former.hang()
        async with stage.coordinator():
            await stage.closed(*keys)
            async with asyncio.timeout(30):
                await asyncio.gather(*(holding.lost.wait() for holding in holdings))
        await stage.verify(*keys)
        assert len(given) == 120


async def test_one_that_stops_in_order_gives_its_shards_up_at_once(stage: Stage) -> None:
    async with stage.worker() as given:
        async with stage.coordinator("first") as first:
            keys = [await stage.start(chain("a", "b", "c")) for _ in range(20)]
            await eventually(lambda: len(given) >= 10)
            await first.stop()
            tenures = await stage.ports.owners.tenures()
            assert [tenure.owner for tenure in tenures.values()] == [None, None]
        async with stage.coordinator("second"):
            await stage.closed(*keys)
        await stage.verify(*keys)
        assert len(given) == 60


async def test_the_mark_moves_on_while_runs_do(stage: Stage) -> None:
    async with stage.worker(), stage.coordinator():
        keys = [await stage.start(chain("a", "b")) for _ in range(10)]
        await stage.closed(*keys)
        await eventually(lambda: _marks(stage))


async def test_a_server_that_was_away_for_a_while_costs_nothing_but_time(own_server: OwnServer) -> None:
    stage = Stage(own_server.fabric.connection, own_server.fabric.config)
    async with stage.coordinator(), stage.inbox() as (inbox, replies):
        keys = [await stage.start(chain("a", "b"), reply=inbox) for _ in range(20)]
        for _ in keys:
            await replies.get()
        await own_server.restart(crash=False)
        async with stage.worker() as given:
            await stage.closed(*keys)
        assert len(given) == 40
    await stage.verify(*keys)


async def _marks(stage: Stage) -> bool:
    """Some commit needs no more care."""
    return max([await stage.ports.owners.load_mark(shard) for shard in range(stage.config.shards)]) > 1
