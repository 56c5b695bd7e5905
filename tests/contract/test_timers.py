"""The owner's timers, on the real clock and real schedules."""

from __future__ import annotations

from statistics import median

import pytest

from penstock.core.model.time import MILLISECOND, SECOND, Instant
from penstock.fabric.ports.schedules import Timer, decode_fired
from penstock.fabric.timers import Timers
from penstock.testkit.eventually import eventually
from tests.contract.rig import Rig
from tests.contract.test_schedules import after

pytestmark = pytest.mark.parametrize("rig", ["jetstream"], indirect=True)


class Owner:
    """Timers on the real clock, promoted soon."""

    def __init__(self, rig: Rig, promote_after: float = 60.0) -> None:
        self.fired: list[tuple[Timer, int]] = []
        self.settled: list[Timer] = []
        self.timers = Timers(
            rig.schedules,
            rig.now,
            fire=lambda timer: self.fired.append((timer, rig.now() - timer.due)),
            settle=self.settled.append,
            promote_after=promote_after,
        )


async def test_in_memory_they_fire_in_order_never_early_and_late_by_less_than_ten_milliseconds(rig: Rig) -> None:
    owner = Owner(rig)
    timers = [after(rig, 0.05 * number, name=f"t-{number}") for number in range(10, 0, -1)]
    for timer in timers:
        owner.timers.arm(timer)
    await eventually(lambda: len(owner.fired) == 10)
    assert [timer for timer, _ in owner.fired] == timers[::-1]
    lateness = [late for _, late in owner.fired]
    assert min(lateness) >= 0
    assert median(lateness) <= 10 * MILLISECOND  # the median: one may meet a busy moment of the machine
    assert len(owner.timers) == 0
    assert owner.settled == [timer for timer, _ in owner.fired]


async def test_a_cancelled_timer_never_fires_and_costs_no_write(rig: Rig) -> None:
    owner = Owner(rig)
    cancelled, kept = after(rig, 0.1), after(rig, 0.2)
    owner.timers.arm(cancelled)
    owner.timers.arm(kept)
    await owner.timers.cancel(cancelled.key, cancelled.id)
    await eventually(lambda: len(owner.fired) == 1)
    assert owner.fired[0][0] == kept
    assert owner.settled == [cancelled, kept]


async def test_a_timer_armed_again_fires_at_its_new_time_only(rig: Rig) -> None:
    owner = Owner(rig)
    first = after(rig, 0.05)
    second = Timer(first.key, first.id, Instant(first.due + SECOND // 5))
    owner.timers.arm(first)
    owner.timers.arm(second)
    await eventually(lambda: owner.fired)
    assert [timer for timer, _ in owner.fired] == [second]


async def test_one_that_lives_long_is_promoted_and_leaves_memory(rig: Rig) -> None:
    inboxes = await rig.owners.fence(0, 1)
    owner = Owner(rig, promote_after=0.1)
    timer = after(rig, 1.0)
    owner.timers.arm(timer)
    await eventually(lambda: len(owner.timers) == 0)
    assert owner.settled == [timer]
    (received,) = await inboxes.fired.take(1)
    late = rig.now() - timer.due
    assert decode_fired(received) == timer
    assert late >= 0
    assert owner.fired == []


async def test_a_promoted_timer_can_be_cancelled(rig: Rig) -> None:
    inboxes = await rig.owners.fence(0, 1)
    owner = Owner(rig, promote_after=0.05)
    cancelled, kept = after(rig, 0.8), after(rig, 1.0)
    owner.timers.arm(cancelled)
    owner.timers.arm(kept)
    await eventually(lambda: len(owner.timers) == 0)
    await owner.timers.cancel(cancelled.key, cancelled.id)
    (received,) = await inboxes.fired.take(1)
    assert decode_fired(received) == kept


async def test_by_schedule_they_are_late_by_less_than_three_hundred_milliseconds(rig: Rig) -> None:
    inboxes = await rig.owners.fence(0, 1)
    timers = [after(rig, 0.3 + 0.07 * number, name=f"t-{number}") for number in range(9)]
    for timer in timers:
        await rig.schedules.set(timer)
    lateness: list[int] = []
    while len(lateness) < len(timers):
        fired = await inboxes.fired.take(10)
        lateness += [rig.now() - decode_fired(received).due for received in fired]
    assert min(lateness) >= 0
    assert median(lateness) <= 300 * MILLISECOND


async def test_closing_forgets_what_is_in_memory(rig: Rig) -> None:
    owner = Owner(rig)
    owner.timers.arm(after(rig, 0.05))
    await owner.timers.close()
    later = Owner(rig)
    later.timers.arm(after(rig, 0.1))
    await eventually(lambda: later.fired)
    assert owner.fired == []


async def test_a_schedule_left_from_before_a_timer_was_set_anew_is_told_apart(rig: Rig) -> None:
    inboxes = await rig.owners.fence(0, 1)
    owner = Owner(rig, promote_after=0.05)
    first = after(rig, 0.6)
    owner.timers.arm(first)
    await eventually(lambda: len(owner.timers) == 0)
    anew = Timer(first.key, first.id, Instant(first.due + 60 * SECOND))
    later = Owner(rig)
    later.timers.arm(anew)
    (received,) = await inboxes.fired.take(1)
    assert later.timers.supersedes(decode_fired(received))
    assert not owner.timers.supersedes(decode_fired(received))
    await later.timers.close()
