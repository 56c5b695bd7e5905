"""Everything around the loop, in memory: log, queue, timers, snapshots, owners of the shard, and a clock.

Nothing happens by itself. What the loop asks for becomes pending, what it publishes waits outside, and a step of the
schedule picks what comes next.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from itertools import count, islice
from typing import Any, ClassVar, TypeAlias, TypeVar

import msgspec

from penstock.core.graph.state import State
from penstock.core.model import commands as c
from penstock.core.model import effects as f
from penstock.core.model.commit import EMPTY
from penstock.core.model.decider import Facts
from penstock.core.model.events import Fault
from penstock.core.model.time import SECOND, Instant
from penstock.core.turn import inputs as i
from penstock.core.turn import outputs as o
from penstock.core.turn.limits import Limits
from penstock.core.turn.run import Kind
from penstock.core.turn.shard import Shard
from penstock.fabric.ports.snapshots import Snapshot
from penstock.testkit.simulate.case import Case
from penstock.testkit.simulate.log import KEY, Log
from penstock.testkit.simulate.outside import Outside
from penstock.testkit.simulate.problem import Problem

Asked: TypeAlias = o.LoadRun | o.FetchFacts | o.ConfirmLast | o.AppendCommit | o.PublishEffects | o.Scan

_T = TypeVar("_T")

LIMITS = Limits(snapshot_every=8)
UNAVAILABLE = Fault("UNAVAILABLE", "not now", retryable=True)
PARENT = "p-1"

_encode = msgspec.msgpack.Encoder().encode


class Message(msgspec.Struct):
    """A command, or the firing of a timer, until it is acknowledged."""

    id: str
    command: c.Command
    due: Instant | None = None
    """Of a timer."""
    deliveries: int = 0

    def deliver(self, number: int) -> i.Input:
        self.deliveries += 1
        if self.due is not None and isinstance(self.command, c.FireTimer):
            return i.TimerDue(number, KEY, self.command.timer, self.due, self.deliveries)
        return i.Deliver(number, KEY, self.id, self.command, self.deliveries)


class Owner:
    """A process that has the shard, or had it and does not know. All of this is gone when it crashes."""

    def __init__(self, case: Case, epoch: int) -> None:
        self.epoch = epoch
        self.decider = case.decider()
        self.shard = Shard({"start": Kind(self.decider, _summary)}, LIMITS)
        self.pending: list[Asked] = []
        self.armed: dict[str, Instant] = {}
        self.firing: dict[int, Message] = {}
        """Timers that left its memory and are not taken yet."""


class World:
    def __init__(self, case: Case) -> None:
        self.case = case
        self.now = Instant(SECOND)
        self.log = Log()
        self.outside = Outside(case.script, self.log.record)
        self.queue: dict[int, Message] = {}
        """Not acknowledged, in order."""
        self.waiting: deque[int] = deque()
        """To be delivered."""
        self.delayed: list[tuple[Instant, int]] = []
        self.promoted: dict[str, Instant] = {}
        """Timers that the server keeps."""
        self.fired: dict[str, Instant] = {}
        self.snapshots: list[Snapshot] = []
        self.mark = 0
        self.published: set[bytes] = set()
        self.formers: list[Owner] = []
        self.answers: deque[tuple[Owner, i.Input]] = deque(maxlen=8)
        """Given lately; they may come again."""
        self.cancelled = False
        self._numbers = count(1)
        self._epochs = count(1)
        self.post("start", self.start())
        self.take_over()

    def start(self) -> c.Start:
        return c.Start("w", self.case.hash, self.case.input, "seed", KEY.run, parent=PARENT)

    @property
    def closed(self) -> bool:
        return self.log.record.state.phase == "closed"

    # -- the queue

    def post(self, name: str, command: c.Command, due: Instant | None = None) -> None:
        number = next(self._numbers)
        self.queue[number] = Message(name, command, due)
        self.waiting.append(number)

    def fresh(self, name: str) -> str:
        return f"{name}-{next(self._numbers)}"

    def deliver(self, most: int) -> None:
        """Up to so many at once, in order."""
        given: list[i.Input] = []
        while self.waiting and len(given) < most:
            number = self.waiting.popleft()
            message = self.queue.get(number) or self.owner.firing.get(number)
            if message is not None:
                given.append(message.deliver(number))
        self.feed(self.owner, given)

    # -- owners

    def take_over(self) -> None:
        """Somebody else has the shard: it knows nothing, and gets what was not acknowledged."""
        self.owner = Owner(self.case, next(self._epochs))
        self.waiting = deque(self.queue)
        self.delayed.clear()
        self.feed(self.owner, [i.Gained(self.owner.epoch, self.mark)])

    def feed(self, owner: Owner, given: Iterable[i.Input]) -> None:
        for output in owner.shard.step(self.now, given):
            self._OUTPUTS[type(output)](self, owner, output)

    def answer(self, owner: Owner, given: list[i.Input]) -> None:
        self.answers.append((owner, given[-1]))
        self.feed(owner, given)

    # -- what comes out of the loop

    def _ask(self, owner: Owner, output: Asked) -> None:
        owner.pending.append(output)

    def _ack(self, owner: Owner, output: o.Ack) -> None:
        if owner.firing.pop(output.delivery, None) is None and owner is self.owner:
            self.queue.pop(output.delivery, None)

    def _nak(self, owner: Owner, output: o.Nak) -> None:
        if owner is self.owner:
            heapq.heappush(self.delayed, (Instant(self.now + output.delay), output.delivery))

    def _bury(self, _: Owner, output: o.Bury) -> None:
        raise Problem("dead letter", output.id, str(output.fault))

    def _incident(self, _: Owner, output: o.RaiseIncident) -> None:
        raise Problem("incident", str(output.fault))

    def _snapshot(self, _: Owner, output: o.SaveSnapshot) -> None:
        self.snapshots.append(Snapshot(output.head, output.state))

    def _save_mark(self, owner: Owner, output: o.SaveMark) -> None:
        if owner is self.owner:
            self.mark = output.sequence

    def _abandon(self, owner: Owner, _: o.Abandon) -> None:
        owner.pending.clear()
        if owner is self.owner:
            self.take_over()
        elif owner in self.formers:
            self.formers.remove(owner)

    def _nothing(self, _: Owner, __: o.Output) -> None:
        """Answers to whoever sent a command: nobody waits for them here."""

    # -- what the loop asks for

    def perform(self, owner: Owner, request: Asked) -> list[i.Input]:
        return self._PERFORM[type(request)](self, owner, request)

    def load(self, _: Owner, request: o.LoadRun, *, missing: int = 0) -> list[i.Input]:
        snapshot = self.snapshots[-1] if self.snapshots and not request.whole else None
        if snapshot is not None and snapshot.head.sequence > len(self.log.entries) - missing:
            snapshot = None
        return [
            i.Loaded(request.ticket, self.log.after(snapshot.head if snapshot else EMPTY, missing=missing), snapshot)
        ]

    def _fetch(self, _: Owner, request: o.FetchFacts) -> list[i.Input]:
        found = {name: self.case.definition for name in request.need.definitions if name == self.case.hash}
        return [i.Fetched(request.ticket, Facts(found, {}, dict.fromkeys(request.need.memos)))]

    def _confirm(self, _: Owner, request: o.ConfirmLast) -> list[i.Input]:
        return [i.LastRead(request.ticket, self.log.head.sequence, self.now)]

    def _append(self, owner: Owner, request: o.AppendCommit) -> list[i.Input]:
        entry = self.log.append(request, self.now)
        if entry is None:
            return [i.Conflicted(request.ticket, self.now, self.log.after(request.head))]
        if owner.decider.live != self.log.record.state:
            raise Problem("fold", *_apart(owner.decider.live, self.log.record.state))
        return [i.Appended(request.ticket, entry.head, self.now)]

    def _publish(self, owner: Owner, request: o.PublishEffects) -> list[i.Input]:
        if self.now > request.before:
            return [i.Doubtful()]
        self.publish(owner, request.effects)
        return [i.Published(request.ticket)]

    def _scan(self, _: Owner, request: o.Scan) -> list[i.Input]:
        found = [i.Heal(KEY)] if self.log.head.sequence >= max(request.sequence, 1) else []
        return [*found, i.Scanned(request.ticket)]

    def publish(self, owner: Owner, effects: Iterable[f.Effect]) -> None:
        for effect in effects:
            self.published.add(_encode(effect))
            if type(effect) is f.ArmTimer:
                owner.armed[effect.timer] = effect.due
            elif type(effect) is f.DropTimer:
                self.promoted.pop(effect.timer, None)
                if owner.armed.pop(effect.timer, None) is not None:
                    self.feed(owner, [i.TimerSettled(KEY, effect.timer)])
            elif type(effect) is f.ContinueRun:
                self.post(self.fresh("continue"), c.Continue())
            else:
                self.outside.take(effect)

    # -- timers and time

    def fire(self, owner: Owner, timer: str) -> None:
        """From memory, where it is forgotten then."""
        due = owner.armed.pop(timer)
        number = next(self._numbers)
        message = owner.firing[number] = Message(timer, c.FireTimer(timer), due)
        self.fired[timer] = due
        self.feed(owner, [message.deliver(number), i.TimerSettled(KEY, timer)])

    def fire_promoted(self, timer: str) -> None:
        """By the server, which keeps it until it is acknowledged."""
        due = self.fired[timer] = self.promoted.pop(timer)
        self.post(timer, c.FireTimer(timer), due)

    def pass_time(self, until: Instant) -> None:
        self.now = until
        while self.delayed and self.delayed[0][0] <= until:
            self.waiting.append(heapq.heappop(self.delayed)[1])
        self.feed(self.owner, ())

    def next_moment(self) -> Instant | None:
        """When something happens by itself."""
        dues = [*self.owner.armed.values(), *self.promoted.values()]
        if self.owner.shard.due is not None:
            dues.append(self.owner.shard.due)
        if self.delayed:
            dues.append(self.delayed[0][0])
        return min(dues, default=None)

    _OUTPUTS: ClassVar[dict[type[Any], Callable[[Any, Owner, Any], None]]] = {
        **dict.fromkeys((o.LoadRun, o.FetchFacts, o.ConfirmLast, o.AppendCommit, o.PublishEffects, o.Scan), _ask),
        o.Ack: _ack,
        o.Nak: _nak,
        o.Bury: _bury,
        o.RaiseIncident: _incident,
        o.SaveSnapshot: _snapshot,
        o.SaveMark: _save_mark,
        o.Abandon: _abandon,
        o.Accepted: _nothing,
        o.Refused: _nothing,
    }

    _PERFORM: ClassVar[dict[type[Any], Callable[[Any, Owner, Any], list[i.Input]]]] = {
        o.LoadRun: load,
        o.FetchFacts: _fetch,
        o.ConfirmLast: _confirm,
        o.AppendCommit: _append,
        o.PublishEffects: _publish,
        o.Scan: _scan,
    }


def nth(things: Mapping[_T, Any], which: int) -> _T:
    return next(islice(things, which, None))


def due_of(timers: Mapping[str, Instant], now: Instant) -> list[str]:
    return [timer for timer, at in timers.items() if at <= now] if timers else []


def _summary(state: State) -> o.Summary:
    return o.Summary(len(state.tokens), min((timer.due for timer in state.timers.values()), default=None))


def _apart(live: object, rebuilt: object) -> list[str]:
    """The fields in which two states differ."""
    if live is None or not isinstance(live, msgspec.Struct):
        return ["nothing was decided"]
    return [
        f"{name}: live {getattr(live, name)!r}, from the log {getattr(rebuilt, name)!r}"
        for name in live.__struct_fields__
        if getattr(live, name) != getattr(rebuilt, name)
    ]
