"""Everything around the loop, in memory: the log, the command queue, the snapshots, the timers, what was published.

The loop's requests become pending, and a test performs them in any order, fails them, or forgets them. What goes
into the log goes through the fabric's own structs, so that the two are known to fit.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import msgspec

from penstock.core.model import commands as c
from penstock.core.model import effects as f
from penstock.core.model.commit import EMPTY, Head, RunKey
from penstock.core.model.decider import Facts, Memo
from penstock.core.model.events import Fault
from penstock.core.model.time import SECOND, Instant
from penstock.core.turn import inputs as i
from penstock.core.turn import outputs as o
from penstock.core.turn.history import rebuild
from penstock.core.turn.limits import Limits
from penstock.core.turn.run import Kind, Run
from penstock.core.turn.shard import Shard
from penstock.fabric.ports.log import Append, Logged, check_chain, logged
from penstock.fabric.ports.snapshots import Snapshot
from tests.unit.core.turn.ledger import Ledger, LedgerDecider

KEY = RunKey("acme", "r-1")
PASSING = Fault("UNAVAILABLE", "not now", retryable=True)
FOR_GOOD = Fault("TOO_LARGE", "never")

Asked = o.LoadRun | o.FetchFacts | o.ConfirmLast | o.AppendCommit | o.PublishEffects


class Message(msgspec.Struct):
    """A command in the queue, until it is acknowledged."""

    key: RunKey
    id: str
    command: c.Command | None
    reply: str = ""
    deliveries: int = 0


class World:
    def __init__(self, **limits: int) -> None:
        self.now = Instant(SECOND)
        self.decider = LedgerDecider()
        self.limits = Limits(**limits)
        self.log: list[Logged] = []
        self.snapshots: dict[RunKey, Snapshot] = {}
        self.queue: dict[int, Message] = {}
        self.deliveries = count(1)
        self.buried: list[o.Bury] = []
        self.answers: list[o.Accepted | o.Refused] = []
        self.incidents: list[o.RaiseIncident] = []
        self.naks: list[o.Nak] = []
        self.published: list[tuple[RunKey, f.Effect]] = []
        self.armed: dict[tuple[RunKey, str], Instant] = {}
        """Timers in the owner's memory."""
        self.promoted: dict[tuple[RunKey, str], Instant] = {}
        self.mark = 0
        self.epoch = 0
        self.blobs = {"blob": "bytes"}
        self.memos: dict[str, Memo] = {}
        self.take_over()

    # -- owners

    def take_over(self) -> None:
        """The owner, if any, is gone with all that it had in memory; what it did not acknowledge comes again."""
        self.epoch += 1
        self.armed = {}
        self.pending: list[Asked] = []
        self.scans: list[o.Scan] = []
        self.abandoned: list[o.Abandon] = []
        self.shard = Shard({"start": Kind(self.decider)}, self.limits)
        self.queue = {delivery: m for delivery, m in self.queue.items() if not m.id.startswith("memory:")}
        self.step(i.Gained(self.epoch, self.mark), *(self._delivery(delivery) for delivery in self.queue))

    # -- the queue

    def post(self, command: c.Command | None, id: str = "", key: RunKey = KEY, reply: str = "") -> int:  # noqa: A002 - the command's
        """Queued, not delivered."""
        delivery = next(self.deliveries)
        name = id or (command.signal if isinstance(command, c.SendSignal) else f"c{delivery}")
        self.queue[delivery] = Message(key, name, command, reply)
        return delivery

    def send(self, command: c.Command | None, id: str = "", key: RunKey = KEY, reply: str = "") -> int:  # noqa: A002 - as above
        delivery = self.post(command, id, key, reply)
        self.step(self._delivery(delivery))
        return delivery

    def signal(self, id: str, name: str = "note", payload: object = None, key: RunKey = KEY, reply: str = "") -> int:  # noqa: A002 - as above
        return self.send(c.SendSignal(id, name, payload), key=key, reply=reply)

    def start(self, key: RunKey = KEY, parent: str | None = None, reply: str = "") -> int:
        return self.send(c.Start("w", "", None, "seed", parent=parent), f"start-{key.run}", key, reply)

    def redeliver(self, *deliveries: int) -> None:
        self.step(*(self._delivery(delivery) for delivery in deliveries if delivery in self.queue))

    def _delivery(self, delivery: int) -> i.Deliver | i.TimerDue:
        message = self.queue[delivery]
        message.deliveries += 1
        command = message.command
        if isinstance(command, c.FireTimer):
            due = Instant(int(message.id.rpartition("@")[2]))
            return i.TimerDue(delivery, message.key, command.timer, due, message.deliveries)
        problem = "" if command else "no command"
        return i.Deliver(delivery, message.key, message.id, command, message.deliveries, message.reply, problem)

    # -- timers

    def promote(self, key: RunKey, timer: str) -> None:
        self.promoted[key, timer] = self.armed.pop((key, timer))
        self.step(i.TimerSettled(key, timer))

    def fire(self, key: RunKey, timer: str) -> None:
        """From memory, where it is forgotten then; or by the server, which keeps it until it is acknowledged."""
        inside = (key, timer) in self.armed
        due = self.armed.pop((key, timer)) if inside else self.promoted.pop((key, timer))
        delivery = self.post(c.FireTimer(timer), f"{'memory' if inside else 'server'}:{timer}@{due}", key)
        settled = [i.TimerSettled(key, timer)] if inside else []
        self.step(self._delivery(delivery), *settled)

    # -- the loop

    def step(self, *inputs: i.Input) -> list[o.Output]:
        out = self.shard.step(self.now, inputs)
        for output in out:
            self._do(output)
        return out

    def _do(self, output: o.Output) -> None:
        match output:
            case o.Ack():
                self.queue.pop(output.delivery, None)
            case o.Nak():
                self.naks.append(output)
            case o.Bury():
                self.buried.append(output)
                self.queue.pop(output.delivery, None)
            case o.Accepted() | o.Refused():
                self.answers.append(output)
            case o.RaiseIncident():
                self.incidents.append(output)
            case o.SaveSnapshot():
                self.snapshots[output.key] = Snapshot(output.head, output.state)
            case o.SaveMark():
                assert (output.epoch, True) == (self.epoch, output.sequence > self.mark)
                self.mark = output.sequence
            case o.Scan():
                self.scans.append(output)
            case o.Abandon():
                self.abandoned.append(output)
            case _:
                self.pending.append(output)

    def asked(self, kind: type[Any]) -> list[Any]:
        return [request for request in self.pending if isinstance(request, kind)]

    def settle(self, *, scan: bool = True) -> None:
        """Do everything that is asked for, in order, until nothing is."""
        while self.pending or (scan and self.scans):
            if scan and self.scans:
                self.scan()
            elif self.pending:
                self.step(self.perform(self.pending.pop(0)))

    def scan(self) -> None:
        found = self.scans.pop()
        keys = dict.fromkeys(entry.key for entry in self.log if entry.head.sequence >= found.sequence)
        self.step(*(i.Heal(key) for key in keys), i.Scanned(found.ticket))

    def fail(self, kind: type[Asked], fault: Fault) -> None:
        (request,) = self.asked(kind)
        self.pending.remove(request)
        self.step(i.Failed(request.ticket, fault))

    def perform(self, request: Asked) -> i.Input:
        return _PERFORM[type(request)](self, request)

    def _load(self, request: o.LoadRun) -> i.Input:
        snapshot = None if request.whole else self.snapshots.get(request.key)
        head = snapshot.head if snapshot else EMPTY
        tail = [entry for entry in self.commits(request.key) if entry.head.sequence >= head.sequence]
        return i.Loaded(request.ticket, check_chain(request.key, tail, head), snapshot)

    def _fetch(self, request: o.FetchFacts) -> i.Input:
        blobs = {name: self.blobs[name] for name in request.need.blobs}
        memos = {name: self.memos.get(name) for name in request.need.memos}
        return i.Fetched(request.ticket, Facts({name: {} for name in request.need.definitions}, blobs, memos))

    def _confirm(self, request: o.ConfirmLast) -> i.Input:
        return i.LastRead(request.ticket, self.last(request.key).sequence, self.now)

    def _append(self, request: o.AppendCommit) -> i.Input:
        append = Append(
            request.key,
            request.id,
            request.head,
            request.at,
            request.events,
            request.causes,
            request.open,
            request.due,
        )
        if self.last(request.key).sequence != request.head.sequence:
            return i.Conflicted(request.ticket, self.now, self._tail(request))
        body, _ = append.encode()
        entry = logged(request.key, request.id, len(self.log) + 1, body)
        self.log.append(entry)
        return i.Appended(request.ticket, entry.head, self.now)

    def _tail(self, request: o.AppendCommit) -> list[Logged]:
        return [entry for entry in self.commits(request.key) if entry.head.sequence > request.head.sequence]

    def _publish(self, request: o.PublishEffects) -> i.Input:
        for effect in request.effects:
            self.publish(request.key, effect)
        return i.Published(request.ticket)

    def publish(self, key: RunKey, effect: f.Effect) -> None:
        self.published.append((key, effect))
        if isinstance(effect, f.ArmTimer):
            self.armed[key, effect.timer] = effect.due
        elif isinstance(effect, f.DropTimer):
            self.promoted.pop((key, effect.timer), None)
            if self.armed.pop((key, effect.timer), None) is not None:
                self.step(i.TimerSettled(key, effect.timer))

    # -- what came of it

    def commits(self, key: RunKey = KEY) -> list[Logged]:
        return [entry for entry in self.log if entry.key == key]

    def last(self, key: RunKey = KEY) -> Head:
        commits = self.commits(key)
        return commits[-1].head if commits else EMPTY

    def state(self, key: RunKey = KEY) -> Ledger:
        """Folded from the log by the loop's own reader, with another decider."""
        run = Run(key)
        rebuild(run, i.Loaded(0, self.commits(key)), {"start": Kind(LedgerDecider())}, self.now)
        assert isinstance(run.state, Ledger)
        return run.state

    def effects(self, kind: type[f.Effect], key: RunKey = KEY) -> list[f.Effect]:
        return [effect for owner, effect in self.published if owner == key and isinstance(effect, kind)]


_PERFORM: dict[type[Any], Callable[[World, Any], i.Input]] = {
    o.LoadRun: World._load,
    o.FetchFacts: World._fetch,
    o.ConfirmLast: World._confirm,
    o.AppendCommit: World._append,
    o.PublishEffects: World._publish,
}
