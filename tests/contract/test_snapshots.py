"""The snapshots' contract, on every adapter."""

from __future__ import annotations

import pytest

from penstock.core.model.commit import EMPTY, Head
from penstock.fabric.ports.snapshots import Snapshot, load_history
from tests.contract.rig import Rig
from tests.contract.test_log import commit, fill

pytestmark = pytest.mark.parametrize("rig", ["memory", "jetstream"], indirect=True)


async def test_a_run_is_rebuilt_from_its_snapshot_and_the_commits_after_it(rig: Rig) -> None:
    key = rig.run_in(0)
    head = await fill(rig, key, 3)
    await rig.snapshots.save(key, Snapshot(head, b"state at 3"))
    end = await rig.log.append(commit(key, head))
    history = await load_history(rig.log, rig.snapshots, key)
    assert history.snapshot == Snapshot(head, b"state at 3")
    assert [entry.head for entry in history.commits] == [end]
    assert history.head == end


async def test_a_snapshot_at_the_end_needs_no_commits(rig: Rig) -> None:
    key = rig.run_in(0)
    head = await fill(rig, key, 2)
    await rig.snapshots.save(key, Snapshot(head, b"all"))
    history = await load_history(rig.log, rig.snapshots, key)
    assert (history.commits, history.head) == ([], head)


async def test_without_a_snapshot_the_log_is_read_whole(rig: Rig) -> None:
    key = rig.run_in(0)
    head = await fill(rig, key, 2)
    history = await load_history(rig.log, rig.snapshots, key)
    assert (history.snapshot, len(history.commits), history.head) == (None, 2, head)


async def test_a_run_that_never_was_has_an_empty_history(rig: Rig) -> None:
    history = await load_history(rig.log, rig.snapshots, rig.run_in(0))
    assert (history.snapshot, history.commits, history.head) == (None, [], EMPTY)


async def test_a_snapshot_of_a_commit_that_is_not_there_is_dropped(rig: Rig) -> None:
    key = rig.run_in(0)
    head = await fill(rig, key, 2)
    await rig.snapshots.save(key, Snapshot(Head(head.sequence + 100, b"\1" * 16, 9), b"of a future"))
    history = await load_history(rig.log, rig.snapshots, key)
    assert (history.snapshot, len(history.commits)) == (None, 2)
    assert await rig.snapshots.load(key) is None


async def test_a_large_state_is_kept_whole(rig: Rig) -> None:
    key = rig.run_in(0)
    snapshot = Snapshot(await fill(rig, key, 1), b"s" * 2_000_000)
    await rig.snapshots.save(key, snapshot)
    assert await rig.snapshots.load(key) == snapshot
