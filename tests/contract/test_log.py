"""The log's contract, on every adapter."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import TypeVar

import msgspec
import pytest

from penstock.core.model.commit import EMPTY, Cause, Head, RunKey
from penstock.core.model.time import Instant
from penstock.fabric.errors import IllegalName, LogBroken, LogConflict
from penstock.fabric.ports.log import Append, Logged
from penstock.kit.ids import new_id
from tests.contract.rig import Rig

T = TypeVar("T")

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.parametrize("rig", ["memory", "jetstream", "cluster"], indirect=True),
]


def commit(key: RunKey, head: Head = EMPTY, *, events: int = 1, id: str = "", size: int = 0, **more: int) -> Append:  # noqa: A002 - as in the port
    raw = tuple(msgspec.Raw(msgspec.msgpack.encode({"n": n, "pad": "x" * size})) for n in range(events))
    causes = (Cause("c-1", "start", events),)
    return Append(
        key=key,
        id=id or new_id(),
        head=head,
        at=Instant(1_000_000),
        events=raw,
        causes=causes,
        open=more.get("open", 1),
        due=Instant(more["due"]) if "due" in more else None,
    )


async def collect(source: AsyncIterator[T], count: int) -> list[T]:
    found: list[T] = []
    async with asyncio.timeout(20):
        async for item in source:
            found.append(item)
            if len(found) == count:
                break
    return found


async def fill(rig: Rig, key: RunKey, commits: int) -> Head:
    head = EMPTY
    for _ in range(commits):
        head = await rig.log.append(commit(key, head, events=2))
    return head


async def test_commits_come_back_in_order_and_chained(rig: Rig) -> None:
    key = rig.run_in(0)
    head = await fill(rig, key, 5)
    commits = await rig.log.read(key)
    assert [entry.commit.first for entry in commits] == [0, 2, 4, 6, 8]
    assert commits[-1].head == head
    assert all(after.commit.prev == before.head.digest for before, after in pairwise(commits))
    assert commits[0].commit.causes == (Cause("c-1", "start", 2),)


async def test_a_run_without_commits_reads_as_empty(rig: Rig) -> None:
    assert await rig.log.read(rig.run_in(0)) == []
    assert await rig.log.last(rig.run_in(0)) is None


async def test_reading_from_a_head_gives_only_what_follows(rig: Rig) -> None:
    key = rig.run_in(0)
    middle = await fill(rig, key, 3)
    end = await rig.log.append(commit(key, middle))
    tail = await rig.log.read(key, middle)
    assert [entry.head for entry in tail] == [end]
    assert await rig.log.read(key, end) == []


async def test_a_head_the_log_does_not_know_is_refused(rig: Rig) -> None:
    key = rig.run_in(0)
    head = await fill(rig, key, 2)
    with pytest.raises(LogBroken) as caught:
        await rig.log.read(key, Head(head.sequence, b"\0" * 16, head.events))
    assert caught.value.attributes["sequence"] == head.sequence


async def test_an_append_that_follows_an_old_head_conflicts_and_writes_nothing(rig: Rig) -> None:
    key = rig.run_in(0)
    first = await rig.log.append(commit(key))
    await rig.log.append(commit(key, first))
    with pytest.raises(LogConflict) as caught:
        await rig.log.append(commit(key, first))
    assert caught.value.attributes["expected"] == first.sequence
    assert len(await rig.log.read(key)) == 2


async def test_repeating_an_append_is_the_same_append(rig: Rig) -> None:
    key = rig.run_in(0)
    append = commit(key)
    first = await rig.log.append(append)
    assert await rig.log.append(append) == first
    assert len(await rig.log.read(key)) == 1


async def test_repeating_an_append_that_others_built_on_is_still_ours(rig: Rig) -> None:
    key = rig.run_in(0)
    append = commit(key)
    first = await rig.log.append(append)
    await rig.log.append(commit(key, first))
    assert await rig.log.append(append) == first
    assert len(await rig.log.read(key)) == 2


async def test_of_many_racers_exactly_one_wins(rig: Rig) -> None:
    key = rig.run_in(0)
    racers = [commit(key) for _ in range(20)]
    outcomes = await asyncio.gather(*map(rig.log.append, racers), return_exceptions=True)
    winners = [outcome for outcome in outcomes if isinstance(outcome, Head)]
    assert len(winners) == 1
    assert all(isinstance(outcome, LogConflict) for outcome in outcomes if outcome not in winners)
    assert [entry.head for entry in await rig.log.read(key)] == winners


async def test_many_appends_at_once_each_have_their_own_outcome(rig: Rig) -> None:
    keys = [rig.run_in(0) for _ in range(50)]
    stale = rig.run_in(0)
    await rig.log.append(commit(stale))
    illegal = RunKey("acme", "no spaces")
    outcomes = await rig.log.append_many([*map(commit, keys), commit(stale), commit(illegal)])
    assert all(isinstance(outcome, Head) for outcome in outcomes[:-2])
    assert isinstance(outcomes[-2], LogConflict)
    assert isinstance(outcomes[-1], IllegalName)
    assert {summary.key for summary in await rig.log.lasts(keys)} == set(keys)


async def test_the_last_commit_tells_what_the_run_waits_for(rig: Rig) -> None:
    key = rig.run_in(0)
    head = await rig.log.append(commit(key, open=3, due=5_000_000))
    last = await rig.log.last(key)
    assert last is not None
    assert (last.sequence, last.open, last.due) == (head.sequence, 3, 5_000_000)
    await rig.log.append(commit(key, head, open=0))
    last = await rig.log.last(key)
    assert last is not None
    assert (last.open, last.due) == (0, None)


async def test_lasts_of_many_runs_leave_out_those_without_commits(rig: Rig) -> None:
    keys = [rig.run_in(0) for _ in range(600)]  # more than one request holds
    await rig.log.append_many([commit(key) for key in keys[:-1]])
    found = await rig.log.lasts(keys)
    assert [summary.key for summary in found] == keys[:-1]


async def test_a_shard_is_scanned_from_any_sequence_to_its_end(rig: Rig) -> None:
    keys = [rig.run_in(0) for _ in range(4)]
    heads = [await rig.log.append(commit(key)) for key in keys]
    scanned = [summary async for summary in rig.log.scan(0, heads[1].sequence)]
    assert [summary.key for summary in scanned] == keys[1:]
    assert [summary async for summary in rig.log.scan(0, heads[-1].sequence + 1)] == []


async def test_a_scan_of_lasts_shows_each_run_once(rig: Rig) -> None:
    finished, open_run = rig.run_in(0), rig.run_in(0)
    head = await rig.log.append(commit(finished))
    await rig.log.append(commit(open_run))
    await rig.log.append(commit(finished, head, open=0))
    found = {summary.key: summary.open async for summary in rig.log.scan_lasts(0)}
    assert found == {finished: 0, open_run: 1}


async def test_a_tail_goes_on_with_what_comes(rig: Rig) -> None:
    key = rig.run_in(0)
    head = await fill(rig, key, 3)
    tail = asyncio.create_task(collect(rig.log.tail(0), 5))
    head = await rig.log.append(commit(key, head))
    await rig.log.append(commit(key, head))
    found: list[Logged] = await tail
    assert [entry.commit.first for entry in found] == [0, 2, 4, 6, 7]


async def test_following_a_run_shows_that_run_only(rig: Rig) -> None:
    key, other = rig.run_in(0), rig.run_in(0)
    head = await rig.log.append(commit(key))
    follow = asyncio.create_task(collect(rig.log.follow(key), 2))
    await rig.log.append(commit(other))
    await rig.log.append(commit(key, head))
    assert {entry.key for entry in await follow} == {key}


async def test_a_commit_larger_than_a_message_is_kept_whole(rig: Rig) -> None:
    key = rig.run_in(0)
    first = await rig.log.append(commit(key, size=3_000_000))
    await rig.log.append(commit(key, first))
    big, small = await rig.log.read(key)
    assert len(bytes(big.commit.events[0])) > 3_000_000
    assert small.commit.prev == big.head.digest


@pytest.mark.parametrize("run", ["", "a b", "a*", "a.>", ".a", "a..b", "ä", "a~b", "x" * 201, "a\r\nb"])
async def test_a_run_id_that_no_subject_can_carry_is_refused(rig: Rig, run: str) -> None:
    with pytest.raises(IllegalName) as caught:
        await rig.log.append(commit(RunKey("acme", run)))
    assert caught.value.attributes["kind"] == "run id"


async def test_a_child_run_id_with_dots_is_one_run(rig: Rig) -> None:
    parent = rig.run_in(0)
    child = RunKey("acme", f"{parent.run}.t1.1")
    await rig.log.append(commit(child))
    assert await rig.log.read(parent) == []
    last = await rig.log.last(child)
    assert last is not None
    assert last.key == child
