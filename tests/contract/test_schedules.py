"""The contract of schedules, on every adapter."""

from __future__ import annotations

import asyncio

import pytest

from penstock.core.model.commit import EMPTY, RunKey
from penstock.core.model.time import SECOND, Instant
from penstock.fabric.ports.delivery import Received
from penstock.fabric.ports.owners import Inboxes
from penstock.fabric.ports.schedules import Timer, decode_fired
from tests.contract.rig import Rig
from tests.contract.test_log import commit

pytestmark = pytest.mark.parametrize("rig", ["memory", "jetstream"], indirect=True)


def after(rig: Rig, seconds: float, key: RunKey | None = None, name: str = "t-1") -> Timer:
    return Timer(key or rig.run_in(0), name, Instant(rig.now() + round(seconds * SECOND)))


async def next_fired(rig: Rig, inboxes: Inboxes, within: float = 5.0) -> tuple[Timer, Received]:
    waiting = asyncio.create_task(inboxes.fired.take(1))
    for _ in range(200):
        if waiting.done():
            break
        await rig.pass_time(within / 200)
        await asyncio.sleep(0)
    (received,) = await waiting
    return decode_fired(received), received


async def test_a_timer_fires_once_when_due_and_never_early(rig: Rig) -> None:
    inboxes = await rig.owners.fence(0, 1)
    timer = after(rig, 0.6)
    await rig.schedules.set(timer)
    fired, received = await next_fired(rig, inboxes)
    late = rig.now() - timer.due
    assert fired == timer
    assert rig.names.run_of(received.subject) == timer.key
    assert late >= 0
    await received.ack()


async def test_setting_a_timer_again_replaces_it(rig: Rig) -> None:
    inboxes = await rig.owners.fence(0, 1)
    first = after(rig, 0.4)
    second = Timer(first.key, first.id, Instant(first.due + SECOND // 2))
    await rig.schedules.set(first)
    await rig.schedules.set(second)
    fired, _ = await next_fired(rig, inboxes)
    assert fired == second
    assert rig.now() >= second.due


async def test_a_cleared_timer_does_not_fire(rig: Rig) -> None:
    inboxes = await rig.owners.fence(0, 1)
    cleared, kept = after(rig, 0.3), after(rig, 0.6)
    await rig.schedules.set(cleared)
    await rig.schedules.set(kept)
    await rig.schedules.clear(cleared.key, cleared.id)
    await rig.schedules.clear(cleared.key, "never-set")
    fired, _ = await next_fired(rig, inboxes)
    assert fired == kept


async def test_an_overdue_timer_fires_at_once(rig: Rig) -> None:
    inboxes = await rig.owners.fence(0, 1)
    overdue = after(rig, -10)
    await rig.schedules.set(overdue)
    fired, _ = await next_fired(rig, inboxes)
    assert fired == overdue


async def test_a_firing_that_was_not_acknowledged_comes_to_the_next_owner(rig: Rig) -> None:
    first = await rig.owners.fence(0, 1)
    timer = after(rig, 0.2)
    await rig.schedules.set(timer)
    await next_fired(rig, first)
    second = await rig.owners.fence(0, 2)
    fired, received = await next_fired(rig, second)
    assert fired == timer
    await received.ack()


async def test_timers_that_were_only_in_memory_are_recovered_from_the_log(rig: Rig) -> None:
    """Rules 6 and 7: what the dead owner armed and did not promote is found above its low-water mark."""
    done, waiting = rig.run_in(0), rig.run_in(0)
    head = await rig.log.append(commit(done, due=rig.now() + SECOND))
    settled = await rig.log.append(commit(done, head, open=0))
    await rig.owners.save_mark(0, settled.sequence + 1)
    due = rig.now() + SECOND
    await rig.log.append(commit(waiting, EMPTY, due=due))

    inboxes = await rig.owners.fence(0, 2)
    for summary in [summary async for summary in rig.log.scan(0, await rig.owners.load_mark(0))]:
        if summary.open and summary.due is not None:
            await rig.schedules.set(Timer(summary.key, "recovered", summary.due))
    fired, _ = await next_fired(rig, inboxes)
    assert fired == Timer(waiting, "recovered", Instant(due))
