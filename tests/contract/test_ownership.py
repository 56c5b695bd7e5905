"""The contract of ownership: one owner per shard, a fence that holds, nothing lost when a shard moves."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

import pytest

from penstock.core.model.commit import RunKey
from penstock.fabric.errors import ConsumerGone, LeaseLost, Unavailable
from penstock.fabric.ownership import Holding, Ownership, preferred
from penstock.fabric.ports.delivery import Inbox, Received
from penstock.fabric.ports.owners import Member, Tenure
from penstock.kit.ids import new_id
from penstock.testkit.eventually import eventually
from tests.contract.rig import Rig

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.parametrize("rig", ["memory", "jetstream", "cluster"], indirect=True),
]


class Coordinator:
    """Remembers what it was told."""

    def __init__(self, rig: Rig, name: str) -> None:
        self.member = Member(name, new_id())
        self.gains: list[Holding] = []
        self.losses: list[int] = []
        self.ownership = Ownership(
            rig.owners,
            self.member,
            self,
            shards=rig.config.shards,
            lease=rig.config.lease,
            clock=rig.monotonic,
        )

    async def gained(self, holding: Holding) -> None:
        self.gains.append(holding)

    async def losing(self, holding: Holding) -> None:
        self.losses.append(holding.shard)

    async def beat(self) -> None:
        await self.ownership.announce()
        await self.ownership.place()

    @property
    def shards(self) -> set[int]:
        return set(self.ownership.held)

    def commands(self, shard: int = 0) -> Inbox:
        return self.ownership.held[shard].inboxes.commands


async def until(rig: Rig, act: Callable[[], Awaitable[object]], done: Callable[[], bool], limit: float) -> float:
    """Repeat `act` while time passes, until `done`; how long that took."""
    start = rig.monotonic()
    while not done():
        assert rig.monotonic() - start < limit
        await rig.pass_time(0.1)
        await act()
    return rig.monotonic() - start


async def take(inbox: Inbox, count: int) -> list[Received]:
    taken: list[Received] = []
    async with asyncio.timeout(15):
        while len(taken) < count:
            taken += await inbox.take(count - len(taken))
    return taken


async def send(rig: Rig, count: int, key: RunKey | None = None) -> list[bytes]:
    bodies = [f"command {number}".encode() for number in range(count)]
    for body in bodies:
        await rig.commands.send(key or rig.run_in(0), new_id(), body)
    return bodies


def bodies(deliveries: Sequence[Received]) -> list[bytes]:
    return [delivery.data for delivery in deliveries]


async def test_a_lone_coordinator_owns_every_shard(rig: Rig) -> None:
    alone = Coordinator(rig, "a")
    await alone.beat()
    assert alone.shards == set(range(rig.config.shards))
    await alone.ownership.close()


async def test_no_shard_ever_has_two_owners_and_none_is_left_alone(rig: Rig) -> None:
    team = [Coordinator(rig, name) for name in ("a", "b", "c")]
    for _ in range(4):
        for coordinator in team:
            await coordinator.beat()
    owned = Counter(shard for coordinator in team for shard in coordinator.shards)
    assert owned == Counter(range(rig.config.shards))
    members = [coordinator.member for coordinator in team]
    for coordinator in team:
        assert all(preferred(shard, members) == coordinator.member for shard in coordinator.shards)
    for coordinator in team:
        await coordinator.ownership.close()


async def test_commands_reach_the_owner_in_order_with_results_among_them(rig: Rig) -> None:
    owner, key = Coordinator(rig, "a"), rig.run_in(0)
    await owner.beat()
    await rig.commands.send(key, "c-1", b"start")
    await rig.commands.send_result(key, "t-1", b"result")
    await rig.commands.send(key, "c-1", b"start")
    await rig.commands.send(key, "c-2", b"cancel")
    taken = await take(owner.commands(), 3)
    assert bodies(taken) == [b"start", b"result", b"cancel"]
    assert {rig.names.run_of(delivery.subject) for delivery in taken} == {key}
    await owner.ownership.close()


async def test_an_idle_owner_keeps_its_shards_for_as_long_as_it_lives(rig: Rig) -> None:
    owner, rival = Coordinator(rig, "a"), Coordinator(rig, "b")
    await owner.beat()
    before = owner.ownership.held[0].epoch

    async def both() -> None:
        await owner.beat()
        await rival.ownership.place()  # never announced: it may look, but not take

    start = rig.monotonic()
    await until(rig, both, lambda: rig.monotonic() - start > 1.5 * rig.config.lease, 60)
    assert owner.ownership.held[0].epoch == before
    assert (owner.losses, rival.gains) == ([], [])
    await owner.ownership.close()


async def test_a_dead_owners_shards_are_taken_within_the_lease(rig: Rig) -> None:
    dead, heir = Coordinator(rig, "a"), Coordinator(rig, "b")
    await dead.beat()
    await heir.beat()
    held = set(range(rig.config.shards))
    waited = await until(rig, heir.beat, lambda: heir.shards == held, 2 * rig.config.lease)
    assert waited <= rig.config.lease
    assert not dead.ownership.is_current()
    await heir.ownership.close()


async def test_an_owner_started_again_under_its_name_takes_over_at_once(rig: Rig) -> None:
    before, after = Coordinator(rig, "a"), Coordinator(rig, "a")
    await before.beat()
    await after.beat()
    assert after.shards == set(range(rig.config.shards))
    assert after.ownership.held[0].epoch == before.ownership.held[0].epoch + 1
    await after.ownership.close()


async def test_a_take_over_brings_back_every_unacknowledged_command_in_order_and_once(rig: Rig) -> None:
    dead, heir = Coordinator(rig, "a"), Coordinator(rig, "a")
    await dead.beat()
    sent = await send(rig, 50)
    taken = await take(dead.commands(), 30)
    for delivery in taken[:10]:
        await delivery.ack_confirmed()
    await heir.beat()
    sent += await send(rig, 10)
    again = await take(heir.commands(), 50)
    assert bodies(again) == sent[10:]
    for delivery in again:
        await delivery.ack_confirmed()
    await rig.commands.send(rig.run_in(0), new_id(), b"last")
    assert bodies(await take(heir.commands(), 1)) == [b"last"]
    await heir.ownership.close()


async def test_a_stale_owner_that_wakes_up_can_neither_take_nor_acknowledge(rig: Rig) -> None:
    asleep, heir = Coordinator(rig, "a"), Coordinator(rig, "a")
    await asleep.beat()
    sent = await send(rig, 3)
    taken = await take(asleep.commands(), 3)
    await heir.beat()
    for delivery in taken:
        await delivery.ack()
    assert bodies(await take(heir.commands(), 3)) == sent
    with pytest.raises(ConsumerGone):
        async with asyncio.timeout(15):
            await asleep.commands().take(1)
    await heir.ownership.close()


async def test_a_stale_owner_drops_its_shards_when_it_next_looks(rig: Rig) -> None:
    asleep, heir = Coordinator(rig, "a"), Coordinator(rig, "b")
    await asleep.beat()
    await until(rig, heir.beat, lambda: bool(heir.shards), 2 * rig.config.lease)
    await asleep.ownership.place()
    assert asleep.shards == set()
    assert sorted(asleep.losses) == list(range(rig.config.shards))
    await heir.ownership.close()


async def test_an_owner_that_slept_between_its_claim_and_its_fence_yields(rig: Rig) -> None:
    slow, quick = Member("a", "1"), Member("b", "1")
    assert await rig.owners.claim(0, Tenure(slow, 1, 0))
    tenure = (await rig.owners.tenures())[0]
    assert await rig.owners.claim(0, Tenure(quick, 2, tenure.revision))
    inboxes = await rig.owners.fence(0, 2)
    with pytest.raises(LeaseLost) as caught:
        await rig.owners.fence(0, 1)
    assert caught.value.attributes["epoch"] == 2
    await send(rig, 1)
    assert bodies(await take(inboxes.commands, 1)) == [b"command 0"]
    await inboxes.commands.stop()
    await inboxes.fired.stop()


async def test_of_two_claims_one_wins(rig: Rig) -> None:
    claims = [rig.owners.claim(0, Tenure(Member(name, "1"), 1, 0)) for name in "abcdef"]
    assert sorted(await asyncio.gather(*claims)) == [False] * 5 + [True]


async def test_a_closing_owner_hands_its_shards_over_without_waiting(rig: Rig) -> None:
    leaving, heir = Coordinator(rig, "a"), Coordinator(rig, "b")
    await leaving.beat()
    sent = await send(rig, 5)
    await take(leaving.commands(), 2)
    await leaving.ownership.close()
    assert sorted(leaving.losses) == list(range(rig.config.shards))
    await heir.beat()
    assert heir.shards == set(range(rig.config.shards))
    assert bodies(await take(heir.commands(), 5)) == sent
    await heir.ownership.close()


async def test_an_owner_whose_consumer_was_removed_takes_its_shard_anew(rig: Rig) -> None:
    owner = Coordinator(rig, "a")
    await owner.beat()
    holding = owner.ownership.held[0]
    holding.lost.set()  # what the loop says on ConsumerGone
    await owner.beat()
    assert owner.ownership.held[0].epoch == holding.epoch + 1
    await owner.ownership.close()


async def test_a_shard_whose_handing_over_failed_half_way_is_not_left_alone(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = Coordinator(rig, "a"), Coordinator(rig, "b")
    assert preferred(0, [before.member, after.member]) == after.member
    await before.beat()
    await after.ownership.announce()
    with monkeypatch.context() as broken:
        broken.setattr(rig.owners, "claim", _away)
        with pytest.raises(Unavailable):
            await before.ownership.place()
    assert 0 not in before.shards

    async def both() -> None:
        await before.beat()
        await after.beat()

    await until(rig, both, lambda: 0 in after.shards, rig.config.lease)
    await before.ownership.close()
    await after.ownership.close()


async def test_a_shard_that_could_not_be_begun_is_begun_again(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = Coordinator(rig, "a")
    with monkeypatch.context() as broken:
        broken.setattr(owner, "gained", _away)
        with pytest.raises(Unavailable):
            await owner.beat()
    assert owner.shards == set()
    await owner.beat()
    assert {holding.shard for holding in owner.gains} == owner.shards == set(range(rig.config.shards))
    await owner.ownership.close()


async def test_the_loop_takes_shards_keeps_them_and_hands_them_over_when_it_ends(rig: Rig) -> None:
    first, second = Coordinator(rig, "a"), Coordinator(rig, "b")
    everything = set(range(rig.config.shards))
    running = asyncio.create_task(second.ownership.run())
    await eventually(lambda: second.shards == everything)
    following = asyncio.create_task(first.ownership.run())
    running.cancel()
    await asyncio.wait([running])
    assert sorted(second.losses) == sorted(everything)
    await eventually(lambda: first.shards == everything)
    following.cancel()
    await asyncio.wait([following])
    assert first.shards == set()


async def _away(*_: object) -> bool:
    raise Unavailable(operation="a test", seconds=0)


async def test_the_low_water_mark_only_rises(rig: Rig) -> None:
    assert await rig.owners.load_mark(0) == 1
    await rig.owners.save_mark(0, 40)
    await asyncio.gather(rig.owners.save_mark(0, 20), rig.owners.save_mark(0, 50), rig.owners.save_mark(0, 30))
    assert await rig.owners.load_mark(0) == 50
