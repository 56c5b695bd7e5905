"""Any interleaving of answers, losses, repetitions, crashes and former owners ends in the same: everything once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.model import commands as c
from penstock.core.model import effects as f
from penstock.core.model import events as e
from penstock.core.model.commit import EMPTY, RunKey
from penstock.core.model.decider import Facts
from penstock.core.model.time import SECOND, Instant
from penstock.core.model.upcast import decode_events
from penstock.core.turn import inputs as i
from penstock.core.turn import outputs as o
from penstock.core.turn.causes import recall
from penstock.core.turn.shard import Shard
from penstock.fabric.ports.log import check_chain
from tests.unit.core.turn.ledger import LedgerDecider
from tests.unit.core.turn.world import PASSING, Asked, World

RUNS = [RunKey("acme", "r-1"), RunKey("acme", "r-2")]
SIGNALS = ["note", "task", "timer", "nothing", "blob", "memo", "clear", "refuse", "raise", "yield", "end"]


class Schedule:
    """Each action takes a number, and picks by it among what there is."""

    def __init__(self) -> None:
        self.world = World(snapshot_every=5, live=1, fold=200)
        self.sent: list[tuple[RunKey, c.Command | None, str]] = []
        self.late: list[i.Input] = []
        self.former: list[tuple[Shard, Asked]] = []
        for key in RUNS:
            self._send(key, c.Start("w", "", None, "seed", parent="p"), f"start-{key.run}")

    # -- what may happen

    def send(self, pick: int) -> None:
        number = len(self.sent)
        key, name = RUNS[pick % 2], SIGNALS[pick // 2 % len(SIGNALS)]
        self._send(key, c.SendSignal(f"s{number}", name, SECOND), f"s{number}")

    def garbage(self, pick: int) -> None:
        self._send(RUNS[pick % 2], None, f"s{len(self.sent)}")

    def work(self, pick: int) -> None:
        """A worker answers a task, perhaps not for the first time."""
        tasks = [(key, task) for key, task in self.world.published if isinstance(task, f.DispatchTask)]
        if tasks:
            key, task = tasks[pick % len(tasks)]
            self._send(key, c.TaskResult(task.token, 1, "n", "completed"), f"t{task.token}")

    def answer(self, pick: int) -> None:
        if request := self._take(pick):
            self._answer(self.world.perform(request))

    def lose_the_answer(self, pick: int) -> None:
        if request := self._take(pick):
            self.late.append(self.world.perform(request))
            self._answer(i.Failed(request.ticket, PASSING))

    def fail(self, pick: int) -> None:
        if request := self._take(pick):
            self._answer(i.Failed(request.ticket, PASSING))

    def repeat_an_answer(self, pick: int) -> None:
        if self.late:
            self.world.step(self.late[pick % len(self.late)])

    def redeliver(self, pick: int) -> None:
        if self.world.queue:
            self.world.redeliver(list(self.world.queue)[pick % len(self.world.queue)])

    def crash(self, pick: int) -> None:
        """Some of what was asked for is done all the same, one of the publishes only half."""
        for number, request in enumerate(self.world.pending):
            if isinstance(request, o.PublishEffects):
                for effect in request.effects[: pick % (len(request.effects) + 1)]:
                    self.world.published.append((request.key, effect))
            elif (pick >> number) & 1:
                self.world.perform(request)
        self.world.take_over()

    def forget_the_program(self, _: int) -> None:
        self.world.decider.knows_its_program = False

    def depose(self, _: int) -> None:
        """The owner is replaced, and does not know."""
        self.former += [(self.world.shard, request) for request in self.world.pending]
        self.world.take_over()

    def answer_a_former_owner(self, pick: int) -> None:
        """Its acknowledgements and its mark do not count; what it appends and publishes does."""
        if not self.former:
            return
        shard, request = self.former.pop(pick % len(self.former))
        if isinstance(request, o.PublishEffects):
            self.world.published += [(request.key, effect) for effect in request.effects]
            answer: i.Input = i.Published(request.ticket)
        else:
            answer = self.world.perform(request)
        out = shard.step(self.world.now, [answer])
        asked = (o.LoadRun, o.FetchFacts, o.ConfirmLast, o.AppendCommit, o.PublishEffects)
        self.former += [(shard, output) for output in out if isinstance(output, asked)]

    def scan(self, _: int) -> None:
        if self.world.scans:
            self.world.scan()

    def pass_time(self, pick: int) -> None:
        self.world.now = Instant(self.world.now + pick * SECOND // 20)
        self.world.step()

    def promote(self, pick: int) -> None:
        if self.world.armed:
            self.world.promote(*list(self.world.armed)[pick % len(self.world.armed)])

    def fire(self, pick: int) -> None:
        if timers := [*self.world.armed, *self.world.promoted]:
            self.world.fire(*timers[pick % len(timers)])

    # -- how

    def _send(self, key: RunKey, command: c.Command | None, name: str) -> None:
        self.sent.append((key, command, name))
        self.world.send(command, name, key)

    def _take(self, pick: int) -> Asked | None:
        pending = self.world.pending
        return pending.pop(pick % len(pending)) if pending else None

    def _answer(self, answer: i.Input) -> None:
        self.late.append(answer)
        self.world.step(answer)

    # -- how it ends

    def drain(self) -> None:
        world = self.world
        for _ in range(4):
            world.settle()
            world.now = Instant(world.now + 2 * SECOND)
            world.step()
            world.redeliver(*world.queue)
        world.settle()

    def check(self) -> None:
        world = self.world
        assert world.shard.busy == 0
        assert not world.queue
        for key in RUNS:
            check_chain(key, world.commits(key), EMPTY)
            self._check_applied(key)
            self._check_effects(key)
            self._check_decided_again(key)
            live = world.shard._runs.get(key)
            assert live is None or live.state == world.state(key)

    def _check_applied(self, key: RunKey) -> None:
        state = self.world.state(key)
        silent = {"nothing", "refuse", "raise"}
        sent = {
            name
            for owner, command, name in self.sent
            if owner == key
            and (
                isinstance(command, c.TaskResult) or (isinstance(command, c.SendSignal) and command.name not in silent)
            )
        }
        applied = {name: count for name, count in state.applied.items() if not name.startswith("f")}
        assert applied == dict.fromkeys(sent, 1)
        assert set(state.applied.values()) <= {1}
        given_up = Counter(
            "COMMAND_UNDECODABLE" if command is None else "DECISION_FAILED"
            for owner, command, _ in self.sent
            if owner == key and (command is None or (isinstance(command, c.SendSignal) and command.name == "raise"))
        )
        assert Counter(state.incidents) == given_up

    def _check_effects(self, key: RunKey) -> None:
        """Of what the run waits for, and of everything that happened in it, however long ago."""
        world, state = self.world, self.world.state(key)
        published = [effect for owner, effect in world.published if owner == key]
        assert all(effect in published for effect in LedgerDecider().outstanding(state))
        events = [event for entry in world.commits(key) for event in decode_events(entry.commit.events)]
        tasks = {event.token for event in events if isinstance(event, e.NodeDispatched)}
        assert tasks == {effect.token for effect in published if isinstance(effect, f.DispatchTask)}
        dropped = {event.timer for event in events if isinstance(event, e.TimerCleared)}
        assert dropped <= {effect.timer for effect in published if isinstance(effect, f.DropTimer)}
        for event, effect in ((e.RunYielded, f.ContinueRun), (e.RunClosed, f.ReportOutcome)):
            assert any(isinstance(found, event) for found in events) == any(isinstance(p, effect) for p in published)
        kept = {timer for owner, timer in (*world.armed, *world.promoted) if owner == key}
        assert state.timers.keys() <= kept

    def _check_decided_again(self, key: RunKey) -> None:
        decider, state = LedgerDecider(), LedgerDecider().initial()
        for entry in self.world.commits(key):
            for cause in recall(entry.commit):
                if cause.command is None:
                    for event in cause.events:
                        decider.evolve(state, event, entry.commit.at)
                    continue
                facts = Facts({}, self.world.blobs, cause.facts.memos)
                assert decider.decide(state, cause.command, entry.commit.at, facts) == cause.events
        assert state == self.world.state(key)


ACTIONS: list[Callable[[Schedule, int], None]] = [
    Schedule.answer,
    Schedule.send,
    Schedule.answer_a_former_owner,
    Schedule.crash,
    Schedule.depose,
    Schedule.fail,
    Schedule.fire,
    Schedule.forget_the_program,
    Schedule.garbage,
    Schedule.lose_the_answer,
    Schedule.pass_time,
    Schedule.promote,
    Schedule.redeliver,
    Schedule.repeat_an_answer,
    Schedule.scan,
    Schedule.work,
]
WEIGHTED = [Schedule.answer] * 8 + [Schedule.send] * 4 + ACTIONS

STEPS = st.lists(st.tuples(st.sampled_from(WEIGHTED), st.integers(0, 255)), max_size=60)


def play(steps: list[tuple[Callable[[Schedule, int], None], int]]) -> None:
    schedule = Schedule()
    for action, pick in steps:
        action(schedule, pick)
    schedule.drain()
    schedule.check()
    schedule.world.take_over()  # whatever was only in memory is found again from the mark
    schedule.drain()
    schedule.check()


@settings(max_examples=200, deadline=None)
@given(STEPS)
def test_every_schedule_applies_each_command_once_and_publishes_every_effect(
    steps: list[tuple[Callable[[Schedule, int], None], int]],
) -> None:
    play(steps)


@pytest.mark.parametrize("seed", range(0, 200, 20))
def test_so_does_every_long_one(seed: int) -> None:
    for number in range(seed, seed + 20):
        chance = Random(number)  # noqa: S311 - a schedule, not a secret
        play([(chance.choice(WEIGHTED), chance.randrange(256)) for _ in range(chance.randrange(60, 150))])
