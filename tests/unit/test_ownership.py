"""Where shards go, without any server."""

from __future__ import annotations

from collections import Counter

from penstock.fabric.lowwater import LowWater
from penstock.fabric.ownership import preferred
from penstock.fabric.ports.owners import Member


def members(count: int) -> list[Member]:
    return [Member(f"coordinator-{number}", "1") for number in range(count)]


def test_shards_spread_over_the_living() -> None:
    owners = Counter(preferred(shard, members(4)) for shard in range(400))
    assert len(owners) == 4
    assert min(owners.values()) > 60


def test_one_that_leaves_moves_only_its_own_shards() -> None:
    everyone = members(4)
    left = everyone[:-1]
    for shard in range(100):
        before, after = preferred(shard, everyone), preferred(shard, left)
        assert after == before or before == everyone[-1]


def test_nobody_living_means_nobody_preferred() -> None:
    assert preferred(0, []) is None


def test_the_mark_stops_at_the_first_commit_whose_effects_are_pending() -> None:
    water = LowWater(1)
    for sequence in (5, 7, 9):
        water.begin(sequence)
    water.finish(7)
    assert water.mark == 1
    water.finish(5)
    assert water.mark == 8
    water.finish(9)
    assert water.mark == 10


def test_the_mark_follows_any_order_of_acknowledgements() -> None:
    water = LowWater(1)
    for sequence in range(1, 101):
        water.begin(sequence)
    for sequence in (*range(100, 50, -1), *range(1, 51)):
        water.finish(sequence)
    assert water.mark == 101
