"""The shard as a whole: order, independence, the cache, facts, and what can be wrong with a command or a run."""

from __future__ import annotations

import msgspec
import pytest

from penstock.core.graph.errors import IllegalTransition
from penstock.core.model import commands as c
from penstock.core.model import effects as f
from penstock.core.model.commit import RunKey
from penstock.core.model.decider import Memo
from penstock.core.model.time import SECOND, Instant
from penstock.core.turn import inputs as i
from penstock.core.turn import outputs as o
from penstock.core.turn.limits import Limits
from penstock.core.turn.run import MOVES, Kind
from penstock.core.turn.shard import Shard
from penstock.fabric.ports.snapshots import Snapshot
from tests.unit.core.turn.ledger import LedgerDecider, task
from tests.unit.core.turn.world import FOR_GOOD, KEY, PASSING, World

OTHER = RunKey("acme", "r-2")


@pytest.fixture
def world() -> World:
    world = World()
    world.start()
    world.settle()
    return world


def later(world: World, delay: int) -> None:
    world.now = Instant(world.now + delay)
    world.step()
    world.settle()


# -- order and independence


def test_commands_of_a_run_keep_their_order_through_failures(world: World) -> None:
    world.signal("s1")
    world.signal("s2")
    world.fail(o.AppendCommit, PASSING)
    world.signal("s3")
    later(world, world.limits.retry)
    assert list(world.state().applied) == ["s1", "s2", "s3"]


def test_a_run_never_waits_for_another(world: World) -> None:
    world.start(OTHER)
    world.settle()
    world.signal("s1")
    world.signal("s2", key=OTHER)
    slow, fast = world.asked(o.AppendCommit)
    world.pending = [slow]
    world.step(world.perform(fast))
    assert [message.key for message in world.queue.values()] == [KEY]


def test_commands_that_come_together_are_decided_together(world: World) -> None:
    deliveries = [world.post(c.SendSignal(f"s{number}", "note")) for number in range(3)]
    world.redeliver(*deliveries)
    world.settle()
    assert [cause.id for cause in world.log[-1].commit.causes] == ["s0", "s1", "s2"]


def test_a_command_that_was_sent_twice_is_applied_once_and_both_are_acknowledged(world: World) -> None:
    deliveries = [world.post(c.SendSignal("s1", "note")) for _ in range(2)]
    world.redeliver(*deliveries)
    world.settle()
    assert world.state().applied == {"s1": 1}
    assert not world.queue


def test_starting_twice_is_one_run(world: World) -> None:
    world.take_over()
    world.settle()
    world.send(c.Start("w", "", None, "seed"), "another", reply="inbox")
    world.settle()
    assert len(world.log) == 1
    (answer,) = world.answers
    assert isinstance(answer, o.Accepted)
    assert answer.key == KEY


def test_the_answer_says_where_the_run_stands(world: World) -> None:
    world.signal("s1", "task", reply="inbox-1")
    world.settle()
    world.signal("s2", "timer", 5 * SECOND, reply="inbox-2")
    world.settle()
    due = world.armed[KEY, "s2"]
    assert [(a.reply, a.id, a.sequence, a.summary) for a in world.answers if isinstance(a, o.Accepted)] == [
        ("inbox-1", "s1", 2, o.Summary(1)),
        ("inbox-2", "s2", 3, o.Summary(2, due)),
    ]


def test_a_kind_may_summarize_its_runs_itself() -> None:
    kind = Kind(LedgerDecider(), lambda state: o.Summary(7, Instant(3), state.status, "completed"))
    shard = Shard({"start": kind})
    out = shard.step(Instant(1), [i.Gained(1), i.Deliver(1, KEY, "c1", c.Start("w", "", None, "seed"))])
    (append,) = [output for output in out if isinstance(output, o.AppendCommit)]
    assert (append.open, append.due) == (7, 3)


# -- the cache


def test_runs_with_nothing_in_hand_are_dropped_the_longest_resting_first() -> None:
    world = World(live=2)
    keys = [RunKey("acme", f"r-{number}") for number in range(3)]
    for key in keys:
        world.start(key)
        world.settle()
    for key in keys:
        world.signal(f"s-{key.run}", key=key)
    assert [request.key for request in world.asked(o.LoadRun)] == [keys[0]]
    assert world.shard.busy == 3


def test_a_run_with_something_in_hand_is_never_dropped() -> None:
    world = World(live=1)
    keys = [RunKey("acme", f"r-{number}") for number in range(3)]
    for key in keys:
        world.start(key)
    world.settle()
    for key in keys:
        world.signal(f"s-{key.run}", key=key)
    world.settle()
    assert all(set(world.state(key).applied.values()) == {1} for key in keys)


def test_a_snapshot_is_saved_now_and_then_and_read_back() -> None:
    world = World(snapshot_every=4)
    world.start()
    for number in range(3):
        world.signal(f"s{number}", "task")
        world.settle()
    assert world.snapshots[KEY].head == world.log[2].head
    world.take_over()
    world.signal("more")
    (load,) = world.asked(o.LoadRun)
    assert not load.whole
    world.settle()
    assert world.state().applied["more"] == 1
    live = world.shard._runs[KEY].state
    assert live == world.state()


def test_a_snapshot_that_cannot_be_read_is_done_without(world: World) -> None:
    world.snapshots[KEY] = Snapshot(world.last(), b"\x01")
    world.take_over()
    world.signal("s1")
    world.step(world.perform(world.pending.pop(0)))
    assert [load.whole for load in world.asked(o.LoadRun)] == [True]
    world.settle()
    assert world.state().applied == {"s1": 1}


# -- facts


@pytest.mark.parametrize("name", ["blob", "memo"])
def test_what_a_decision_needs_is_fetched_and_it_is_decided_again(world: World, name: str) -> None:
    world.memos["memo"] = Memo("found")
    world.signal("s0")
    world.signal("s1", name)
    world.settle()
    assert world.state().applied == {"s0": 1, "s1": 1}
    assert not world.state().spoiled


@pytest.mark.parametrize("name", ["insatiable", "blob"])
def test_facts_that_cannot_be_had_bury_the_command(world: World, name: str) -> None:
    world.signal("s1", name)
    if name == "blob":
        world.fail(o.FetchFacts, FOR_GOOD)
    world.settle()
    assert [letter.fault.code for letter in world.buried] == ["FACTS_MISSING"]
    assert world.state().incidents == ["FACTS_MISSING"]


def test_facts_that_cannot_be_had_now_are_asked_for_again(world: World) -> None:
    world.signal("s1", "blob")
    world.fail(o.FetchFacts, PASSING)
    later(world, world.limits.retry)
    assert world.state().applied == {"s1": 1}


def test_effects_that_need_the_program_wait_until_it_is_fetched(world: World) -> None:
    world.signal("s1", "task")
    world.step(world.perform(world.pending.pop()))
    world.decider.knows_its_program = False
    world.take_over()
    world.settle()
    assert world.effects(f.DispatchTask) == [task(1)]
    assert not world.queue


def test_effects_that_cannot_be_told_keep_the_command_until_they_can(world: World) -> None:
    world.signal("s1", "task")
    world.decider.fails_at_effects = True
    world.settle()
    assert world.incidents
    assert world.queue
    assert not world.buried
    world.decider.fails_at_effects = False
    later(world, world.limits.retry)
    assert world.effects(f.DispatchTask) == [task(1)]
    assert not world.queue


# -- what can be wrong


def test_what_is_no_command_is_buried_and_the_run_told(world: World) -> None:
    world.send(None, "garbage", reply="inbox")
    world.signal("s1")
    world.settle()
    assert [letter.fault.code for letter in world.buried] == ["COMMAND_UNDECODABLE"]
    assert world.state().incidents == ["COMMAND_UNDECODABLE"]
    assert world.state().applied == {"s1": 1}
    assert [answer.code for answer in world.answers if isinstance(answer, o.Refused)] == ["COMMAND_UNDECODABLE"]


def test_what_is_no_command_is_buried_even_if_there_is_no_run(world: World) -> None:
    world.send(None, "garbage", OTHER)
    world.settle()
    assert [letter.key for letter in world.buried] == [OTHER]
    assert not world.commits(OTHER)


def test_a_command_that_is_buried_again_raises_no_second_incident(world: World) -> None:
    for _ in range(2):
        world.signal("s1", "raise")
        world.settle()
    assert len(world.buried) == 2
    assert world.state().incidents == ["DECISION_FAILED"]


def test_an_effect_that_can_never_be_sent_is_an_incident_and_holds_up_nothing(world: World) -> None:
    world.signal("s1", "task")
    world.step(world.perform(world.pending.pop()))
    world.fail(o.PublishEffects, FOR_GOOD)
    world.settle()
    assert world.state().incidents == ["EFFECT_REFUSED"]
    assert not world.queue
    assert world.shard.busy == 0


def test_a_run_whose_log_is_broken_buries_its_commands(world: World) -> None:
    world.take_over()
    world.signal("s1", reply="inbox")
    world.fail(o.LoadRun, FOR_GOOD)
    assert [letter.fault.code for letter in world.buried] == ["RUN_UNREADABLE"]
    assert world.shard.busy == 0


def test_a_run_that_cannot_be_loaded_now_is_loaded_later(world: World) -> None:
    world.take_over()
    world.signal("s1")
    world.fail(o.LoadRun, PASSING)
    later(world, world.limits.retry)
    assert world.state().applied == {"s1": 1}


def test_a_run_of_a_kind_that_is_not_known_here_is_left_to_others(world: World) -> None:
    shard = Shard({"goal.start": Kind(LedgerDecider())})
    shard.step(world.now, [i.Gained(5, 1)])
    (load,) = shard.step(world.now, [i.Deliver(1, KEY, "s1", c.SendSignal("s1", "note"))])
    assert isinstance(load, o.LoadRun)
    assert shard.step(world.now, [i.Loaded(load.ticket, world.commits())]) == [o.Nak(1, SECOND)]
    assert shard.busy == 0


def test_an_event_of_a_newer_release_leaves_the_run_to_others(world: World) -> None:
    (entry,) = world.log
    newer = msgspec.Raw(msgspec.msgpack.encode({"type": "run.started@99"}))
    commit = msgspec.structs.replace(entry.commit, events=(newer,))
    world.log[0] = msgspec.structs.replace(entry, commit=commit)
    world.take_over()
    delivery = world.signal("s1")
    world.settle(scan=False)
    assert [nak.delivery for nak in world.naks] == [delivery]
    assert not world.buried


def test_a_replica_that_is_behind_is_asked_again_later(world: World) -> None:
    world.signal("s1", "nothing")
    (confirm,) = world.pending
    world.pending = []
    world.step(i.LastRead(confirm.ticket, world.last().sequence + 1, world.now))
    world.settle()  # the replica does not have it yet
    assert world.queue
    assert world.shard.due == world.now + world.limits.retry
    later(world, world.limits.retry)
    assert not world.queue


def test_late_answers_are_ignored(world: World) -> None:
    world.signal("s1")
    request = world.pending[0]
    answer = world.perform(request)
    world.pending.clear()
    world.step(answer)
    assert world.step(answer) == []
    world.take_over()
    world.settle()
    assert world.step(answer, i.Scanned(1)) == []


def test_an_answer_to_another_question_is_a_mistake_of_the_caller(world: World) -> None:
    world.signal("s1")
    with pytest.raises(IllegalTransition):
        world.step(i.Published(world.pending[0].ticket))


def test_every_phase_can_be_reached_and_left() -> None:
    assert MOVES.keys() == {phase for moves in MOVES.values() for phase in moves}
    assert all(MOVES.values())


def test_nothing_is_kept_for_commands_without_a_run() -> None:
    world = World()
    world.signal("s1")
    world.settle()
    assert world.shard.busy == 0
    assert not world.shard._runs


def test_limits_are_those_of_the_architecture() -> None:
    limits = Limits()
    assert (limits.fold, limits.lease) == (256 * 1024, 3 * SECOND)
