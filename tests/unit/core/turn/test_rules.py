"""The rules of the log that live in the loop, each by its number in the architecture."""

from __future__ import annotations

import pytest

from penstock.core.model import commands as c
from penstock.core.model import effects as f
from penstock.core.model.commit import EMPTY, RunKey, decode_commit, digest, encode_commit
from penstock.core.model.decider import Memo
from penstock.core.model.time import SECOND, Instant
from penstock.core.turn import inputs as i
from penstock.core.turn import outputs as o
from penstock.core.turn.causes import recall
from tests.unit.core.turn.ledger import LedgerDecider, task
from tests.unit.core.turn.world import FOR_GOOD, KEY, PASSING, World

OTHER = RunKey("acme", "r-2")


@pytest.fixture
def world() -> World:
    world = World()
    world.settle()
    return world


@pytest.fixture
def started(world: World) -> World:
    world.start()
    world.settle()
    return world


# -- rule 1: one commit is one message


def test_rule_1_all_events_of_a_decision_are_one_commit_that_follows_the_head(started: World) -> None:
    started.signal("s1", "task")
    (append,) = started.asked(o.AppendCommit)
    first = started.log[0]
    assert append.head == first.head
    assert append.open == 1
    assert [(cause.id, cause.kind, cause.events) for cause in append.causes] == [("s1", "signal.send", 2)]
    started.settle()
    second = started.log[1]
    assert second.commit.prev == first.head.digest == digest(encode_commit(first.commit))
    assert second.commit.first == 1
    assert second.head.events == 3
    assert decode_commit(encode_commit(second.commit)) == second.commit


def test_rule_1_a_run_begins_at_the_empty_head_and_its_start_is_not_loaded_for(world: World) -> None:
    world.start()
    (append,) = world.pending
    assert isinstance(append, o.AppendCommit)
    assert append.head == EMPTY


def test_rule_1_every_commit_can_be_decided_again(world: World) -> None:
    payload = {"text": "x" * 2000}
    world.memos["memo"] = Memo({"found": 1})
    world.start()
    world.settle()
    for signal, name in (("s1", "note"), ("s2", "task"), ("s3", "nothing"), ("s4", "memo"), ("s5", "raise")):
        world.signal(signal, name, payload)
    world.settle()
    decider, state = LedgerDecider(), LedgerDecider().initial()
    for entry in world.log:
        for cause in recall(entry.commit):
            if cause.command is None:
                for event in cause.events:
                    decider.evolve(state, event, entry.commit.at)
            else:
                assert decider.decide(state, cause.command, entry.commit.at, cause.facts) == cause.events
    assert state == world.state()
    assert state.incidents == ["DECISION_FAILED"]


def test_rule_1_a_payload_is_stored_once(started: World) -> None:
    payload = {"text": "x" * 5000}
    started.signal("s1", payload=payload)
    (append,) = started.asked(o.AppendCommit)
    assert len(append.causes[0].data) < 200
    started.settle()
    (recalled,) = recall(started.log[-1].commit)
    assert recalled.command == c.SendSignal("s1", "note", payload)


# -- rule 2: conflicts


def test_rule_2_a_conflict_with_our_own_commit_is_success(started: World) -> None:
    started.signal("s1", "task")
    request = started.pending.pop()
    started.perform(request)  # it got there, the answer did not come
    started.step(started.perform(request))
    started.settle()
    assert started.state().applied == {"s1": 1}
    assert started.effects(f.DispatchTask) == [task(1)]
    assert not started.queue


def test_rule_2_a_conflict_with_another_commit_decides_again_on_what_is_there(started: World) -> None:
    started.signal("s1")
    request = started.pending.pop()
    started.signal("s2", "task")  # in hand while the first is on its way
    _commit_elsewhere(started, "s0")
    started.step(started.perform(request))
    assert started.asked(o.LoadRun)
    started.settle()
    assert started.state().applied == {"s0": 1, "s1": 1, "s2": 1}
    assert not started.queue


def test_rule_2_ours_in_the_middle_of_the_tail_is_not_applied_again(started: World) -> None:
    started.signal("s1")
    request = started.pending.pop()
    started.perform(request)
    _commit_elsewhere(started, "s0")
    started.step(started.perform(request))
    started.settle()
    assert started.state().applied == {"s1": 1, "s0": 1}
    assert not started.queue


def test_rule_2_ours_in_a_tail_that_nobody_read_has_its_effects(started: World) -> None:
    started.signal("s1", "yield")
    request = started.pending.pop()
    started.perform(request)
    started.step(i.Conflicted(request.ticket, started.now))
    started.settle()
    assert started.state().applied == {"s1": 1}
    assert started.effects(f.ContinueRun) == [f.ContinueRun()]


def test_rule_2_an_exception_drops_the_state(started: World) -> None:
    started.signal("s1")
    started.signal("s2", "raise")
    started.signal("s3")
    started.settle()
    assert started.state().applied == {"s1": 1, "s3": 1}
    assert [letter.fault.code for letter in started.buried] == ["DECISION_FAILED"]
    assert started.state().incidents == ["DECISION_FAILED"]
    assert not started.queue


def _commit_elsewhere(world: World, signal: str) -> None:
    """Another owner, which the first does not know of."""
    other = World()
    other.log, other.epoch, other.mark = world.log, 98, world.mark
    other.take_over()
    other.signal(signal)
    other.settle()


# -- rule 3: decisions without events


def test_rule_3_a_decision_without_events_is_confirmed_before_it_is_acknowledged(started: World) -> None:
    started.signal("s1", "nothing", reply="inbox")
    assert [type(request) for request in started.pending] == [o.ConfirmLast]
    assert started.queue
    assert not started.answers
    started.settle()
    assert not started.queue
    (answer,) = started.answers
    assert isinstance(answer, o.Accepted)
    assert answer.sequence == started.last().sequence


def test_rule_3_if_the_log_moved_on_it_is_decided_again(started: World) -> None:
    started.signal("s1", "nothing")
    decided = started.decider.decided
    _commit_elsewhere(started, "s0")
    started.settle()
    assert started.decider.decided == decided + 1
    assert not started.queue


def test_rule_3_a_refusal_is_confirmed_too(started: World) -> None:
    started.signal("s1", "refuse", reply="inbox")
    assert [type(request) for request in started.pending] == [o.ConfirmLast]
    started.settle()
    (answer,) = started.answers
    assert isinstance(answer, o.Refused)
    assert (answer.code, answer.attributes["asked"]) == ("ILLEGAL_TRANSITION", "refused")
    assert not started.queue


def test_rule_3_a_command_for_no_run_is_handed_back_then_buried(world: World) -> None:
    delivery = world.signal("s1", reply="inbox")
    world.settle()
    assert [(nak.delivery, nak.delay) for nak in world.naks] == [(delivery, SECOND)]
    for _ in range(world.limits.tries - 1):
        assert not world.answers
        world.redeliver(delivery)
        world.settle()
    assert [letter.fault.code for letter in world.buried] == ["RUN_UNKNOWN"]
    assert [answer.code for answer in world.answers if isinstance(answer, o.Refused)] == ["RUN_UNKNOWN"]


# -- rule 4: ownership


def test_rule_4_no_effects_half_a_lease_after_the_acknowledgement(started: World) -> None:
    delivery = started.signal("s1", "task")
    answer = started.perform(started.pending.pop())
    started.now = Instant(started.now + started.limits.lease // 2 + 1)
    started.step(answer)
    assert [abandon.epoch for abandon in started.abandoned] == [1]
    assert not started.pending
    assert delivery in started.queue
    started.take_over()
    started.settle()
    assert started.effects(f.DispatchTask) == [task(1)]
    assert started.state().applied == {"s1": 1}


def test_rule_4_effects_say_until_when_they_may_go_out(started: World) -> None:
    started.signal("s1", "task")
    started.step(started.perform(started.pending.pop()))
    (publish,) = started.asked(o.PublishEffects)
    assert publish.before == started.now + started.limits.lease // 2


@pytest.mark.parametrize("given", [i.Lost(), i.Doubtful()], ids=["lost", "doubtful"])
def test_rule_4_whoever_lost_the_shard_does_nothing_more(started: World, given: i.Input) -> None:
    started.signal("s1", "task")
    answer = started.perform(started.pending.pop())
    started.step(given)
    assert started.step(answer) == []
    assert started.step(i.Deliver(77, KEY, "s2", c.SendSignal("s2", "note"))) == []
    assert started.queue
    assert started.shard.busy == 0


def test_rule_4_gaining_a_shard_starts_with_an_empty_cache(started: World) -> None:
    started.step(i.Lost())
    started.step(i.Gained(2, started.mark))
    started.signal("s1")
    assert started.asked(o.LoadRun)


# -- rule 5: effects come from state


def test_rule_5_effects_follow_the_commit_and_the_acknowledgement_follows_them(started: World) -> None:
    started.signal("s1", "task")
    assert not started.asked(o.PublishEffects)
    started.step(started.perform(started.pending.pop()))
    (publish,) = started.asked(o.PublishEffects)
    assert publish.effects == (task(1),)
    assert started.queue
    started.settle()
    assert not started.queue


def test_rule_5_a_command_that_is_in_the_log_is_not_decided_twice(started: World) -> None:
    started.signal("s1", "task")
    started.settle()
    decided = started.decider.decided
    started.send(c.SendSignal("s1", "task"), reply="inbox")
    started.settle()
    assert started.decider.decided == decided
    assert started.effects(f.DispatchTask) == [task(1), task(1)]
    assert isinstance(started.answers[0], o.Accepted)
    assert not started.queue


def test_rule_5_what_is_published_again_is_of_the_current_state(started: World) -> None:
    started.signal("s1", "task")
    started.settle()
    started.send(c.TaskResult(1, 1, "n", "completed"))
    started.settle()
    started.published.clear()
    started.send(c.SendSignal("s1", "task"))
    started.settle()
    assert started.published == []


@pytest.mark.parametrize(
    ("name", "effect"),
    [("task", f.DispatchTask), ("end", f.ReportOutcome), ("yield", f.ContinueRun)],
    ids=["what the run waits for", "a report", "a command to itself"],
)
def test_rule_5_effects_lost_in_a_crash_go_out_after_it(world: World, name: str, effect: type[f.Effect]) -> None:
    world.start(parent="p-1")
    world.settle()
    world.signal("s1", name)
    world.step(world.perform(world.pending.pop()))
    assert world.asked(o.PublishEffects)
    world.take_over()
    world.settle()
    assert len(world.effects(effect)) == 1
    assert world.state().applied == {"s1": 1}
    assert not world.queue


def test_rule_5_the_next_commit_waits_for_the_effects_of_the_one_before(started: World) -> None:
    started.signal("s1", "task")
    started.step(started.perform(started.pending.pop()))
    started.signal("s2")
    assert [type(request) for request in started.pending] == [o.PublishEffects]
    started.fail(o.PublishEffects, PASSING)
    started.now = Instant(started.now + started.limits.retry)
    assert started.shard.due is not None
    assert started.shard.due <= started.now
    started.step()
    started.settle()
    assert started.effects(f.DispatchTask)[0] == task(1)
    assert started.state().applied == {"s1": 1, "s2": 1}


# -- rule 6: the low-water mark


def test_rule_6_the_mark_waits_for_effects_in_any_order(world: World) -> None:
    world.start()
    world.start(OTHER)
    world.settle()
    world.signal("s1", "task")
    world.signal("s2", "task", key=OTHER)
    first, second = world.asked(o.AppendCommit)
    world.pending.clear()
    world.step(world.perform(first))
    world.step(world.perform(second))
    slow, fast = world.pending
    world.pending = []
    world.now = Instant(world.now + SECOND)
    world.step(world.perform(fast))
    assert world.mark == 3
    world.now = Instant(world.now + SECOND)
    world.step(world.perform(slow))
    assert world.mark == 5


def test_rule_6_a_commit_on_its_way_is_not_passed(world: World) -> None:
    world.start()
    world.settle()
    world.signal("s1")
    slow = world.pending.pop()
    answer = world.perform(slow)
    world.start(OTHER)
    world.settle()
    world.now = Instant(world.now + SECOND)
    world.step()
    assert world.mark == 2
    world.step(answer)
    world.now = Instant(world.now + SECOND)
    world.step()
    assert world.mark == 4


def test_rule_6_the_mark_waits_for_timers_in_memory(started: World) -> None:
    started.signal("s1", "timer", 60 * SECOND)
    started.settle()
    started.now = Instant(started.now + SECOND)
    started.step()
    assert started.mark == 2
    started.promote(KEY, "s1")
    started.now = Instant(started.now + SECOND)
    started.step()
    assert started.mark == 3


def test_rule_6_a_timer_that_left_memory_holds_the_mark_until_the_run_has_it(started: World) -> None:
    started.signal("s1", "timer", SECOND)
    started.settle()
    started.now = Instant(started.now + SECOND)
    started.fire(KEY, "s1")
    started.now = Instant(started.now + SECOND)
    started.step()
    assert started.mark == 2
    started.take_over()  # before its commit: only the log knows of the timer now
    started.settle()
    assert started.armed.keys() == {(KEY, "s1")}


def test_rule_6_a_take_over_reads_from_the_mark_and_arms_timers_again(started: World) -> None:
    started.signal("s1", "timer", 60 * SECOND)
    started.settle()
    started.now = Instant(started.now + SECOND)
    started.step()
    started.take_over()
    assert [scan.sequence for scan in started.scans] == [2]
    started.settle()
    assert started.armed.keys() == {(KEY, "s1")}
    assert started.mark == 2


def test_rule_6_a_commit_of_a_former_owner_is_not_passed_before_its_timers_are_armed(started: World) -> None:
    started.now = Instant(started.now + SECOND)
    started.signal("s1", "timer", 9 * SECOND)
    (late,) = started.asked(o.AppendCommit)
    started.take_over()
    started.scan()
    started.perform(late)  # by the former owner: nobody has written since
    started.settle()
    assert started.armed
    started.take_over()
    started.settle()
    assert [timer for _, timer in started.armed] == ["s1"]


# -- rule 7: timers


def test_rule_7_a_firing_is_decided_no_earlier_than_its_due_time_and_the_last_commit(started: World) -> None:
    started.signal("s1", "timer", 60 * SECOND)
    started.settle()
    due = started.armed[KEY, "s1"]
    started.fire(KEY, "s1")  # by a clock that is ahead of ours
    started.settle()
    assert started.log[-1].commit.at == due
    started.signal("s2")
    started.settle()
    assert started.log[-1].commit.at == due
    assert not started.queue


def test_rule_7_a_firing_is_accepted_once(started: World) -> None:
    started.signal("s1", "timer", SECOND)
    started.settle()
    due = started.armed[KEY, "s1"]
    started.fire(KEY, "s1")
    started.step(i.TimerDue(501, KEY, "s1", due), i.TimerDue(502, KEY, "s1", due))
    started.settle()
    started.step(i.TimerDue(503, KEY, "s1", due))
    started.settle()
    assert started.state().applied == {"s1": 1, "fs1": 1}


def test_rule_7_a_dropped_timer_no_longer_holds_the_mark(started: World) -> None:
    started.signal("s1", "timer", 60 * SECOND)
    started.settle()
    started.signal("s2", "clear")
    started.settle()
    assert not started.armed
    started.now = Instant(started.now + SECOND)
    started.step()
    assert started.mark == started.last().sequence + 1


# -- rule 9: ids are kept by time


def test_rule_9_ids_are_remembered_for_a_time_however_many_they_are(started: World) -> None:
    for number in range(300):
        started.signal(f"s{number}")
    started.settle()
    started.send(c.SendSignal("s0", "note"))
    started.settle()
    assert started.state().applied["s0"] == 1
    started.now = Instant(started.now + started.limits.remember + 1)
    started.signal("later")
    started.settle()
    started.send(c.SendSignal("s0", "note"))
    started.settle()
    assert started.state().applied["s0"] == 2


def test_rule_9_a_timer_that_fires_ahead_of_our_clock_makes_nothing_forgotten(started: World) -> None:
    started.signal("s1", "timer", 2 * started.limits.remember)
    started.signal("s2")
    started.settle()
    started.take_over()
    started.settle()
    started.fire(KEY, "s1")
    started.settle()
    started.signal("s2")
    started.settle()
    assert started.state().applied["s2"] == 1


def test_rule_9_ids_survive_in_snapshots() -> None:
    world = World(snapshot_every=3)
    world.start()
    for number in range(5):
        world.signal(f"s{number}")
        world.settle()
    assert world.snapshots
    world.take_over()
    world.settle()
    for number in range(5):
        world.send(c.SendSignal(f"s{number}", "note"))
    world.settle()
    assert set(world.state().applied.values()) == {1}


def test_rule_9_what_was_in_the_log_when_we_came_is_remembered_from_then_on(started: World) -> None:
    started.signal("s1")
    started.step(started.perform(started.pending.pop()))
    started.pending.clear()
    started.now = Instant(started.now + 10 * started.limits.remember)
    started.take_over()
    started.signal("s2")
    started.settle()
    started.send(c.SendSignal("s1", "note"))
    started.settle()
    assert started.state().applied == {"s1": 1, "s2": 1}


# -- rule 10: sizes


def test_rule_10_commands_that_wait_are_folded_into_one_commit(started: World) -> None:
    started.signal("s1")
    for number in range(2, 6):
        started.signal(f"s{number}")
    started.settle()
    assert [len(entry.commit.causes) for entry in started.log] == [1, 1, 4]
    assert list(started.state().applied) == ["s1", "s2", "s3", "s4", "s5"]


def test_rule_10_folding_stops_at_256_kib(started: World) -> None:
    started.signal("s0")
    for number in range(1, 9):
        started.signal(f"s{number}", payload="x" * 100_000)
    started.settle()
    assert [len(entry.commit.causes) for entry in started.log] == [1, 1, 3, 3, 2]


def test_rule_10_a_large_decision_goes_out_whole_for_the_log_to_store_as_a_blob(started: World) -> None:
    started.signal("s0")
    started.signal("s1", payload="x" * 600_000)
    started.signal("s2")
    started.settle()
    assert [[cause.id for cause in entry.commit.causes] for entry in started.log[2:]] == [["s1"], ["s2"]]


def test_rule_10_a_commit_that_cannot_be_appended_buries_its_command_alone(started: World) -> None:
    started.signal("s0")
    for number in range(1, 4):
        started.signal(f"s{number}", reply=f"inbox-{number}")
    started.step(started.perform(started.pending.pop()))
    started.fail(o.AppendCommit, FOR_GOOD)  # of all three together
    started.step(started.perform(started.pending.pop()))
    (append,) = started.asked(o.AppendCommit)
    assert [cause.id for cause in append.causes] == ["s1"]
    started.fail(o.AppendCommit, FOR_GOOD)
    started.settle()
    assert [(letter.id, letter.fault.code) for letter in started.buried] == [("s1", "COMMIT_REFUSED")]
    assert started.state().applied == {"s0": 1, "s2": 1, "s3": 1}
    assert started.state().incidents == ["COMMIT_REFUSED"]
    assert [type(answer) for answer in started.answers] == [o.Refused, o.Accepted, o.Accepted]


def test_rule_10_if_not_even_the_incident_can_be_appended_the_command_is_buried_all_the_same(started: World) -> None:
    started.signal("s1")
    started.fail(o.AppendCommit, FOR_GOOD)
    started.step(started.perform(started.pending.pop()))
    started.fail(o.AppendCommit, FOR_GOOD)
    started.settle()
    assert [letter.fault.code for letter in started.buried] == ["COMMIT_REFUSED"]
    assert started.state().incidents == []
    assert not started.queue


# -- rule 12: long decisions


def test_rule_12_a_run_that_yielded_goes_on_by_a_command_to_itself(started: World) -> None:
    started.signal("s1", "yield")
    started.settle()
    assert started.effects(f.ContinueRun) == [f.ContinueRun()]
    assert started.state().yields
    started.send(c.Continue())
    started.settle()
    assert not started.state().yields
