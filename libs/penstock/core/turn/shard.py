"""The coordinator's loop for one shard, without I/O: inputs and the time go in, what is to be done comes out.

`step` takes in everything first and then moves the runs that were touched, so that commands which came together are
decided together. Runs are independent of each other; within one, commands keep their order.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from penstock.core.model.commands import FireTimer
from penstock.core.model.commit import RunKey
from penstock.core.model.time import Instant
from penstock.core.turn import inputs as i
from penstock.core.turn import outputs as o
from penstock.core.turn.causes import TAGS
from penstock.core.turn.conclude import HEAL
from penstock.core.turn.cycle import advance, answer, load
from penstock.core.turn.desk import Desk
from penstock.core.turn.errors import CommandUndecodable
from penstock.core.turn.limits import Limits
from penstock.core.turn.run import Entry, Kind, Run


class Shard:
    """`kinds` is by the tag of the command that starts such a run. Until `Gained`, everything is ignored."""

    def __init__(self, kinds: Mapping[str, Kind], limits: Limits | None = None) -> None:
        self._kinds = kinds
        self._limits = limits or Limits()
        self._clear(Desk(kinds, self._limits), ours=False)

    def _clear(self, desk: Desk, *, ours: bool) -> None:
        self._desk = desk
        self._ours = ours
        self._runs: dict[RunKey, Run] = {}
        self._resting: OrderedDict[RunKey, None] = OrderedDict()
        """Runs with nothing in hand, the one that rests longest first."""
        self._touched: dict[Run, None] = {}
        self._marked = desk.mark.start
        self._mark_at = Instant(0)
        self._scan = 0

    @property
    def busy(self) -> int:
        """How many runs have something in hand: whoever drives the loop may take in less."""
        return len(self._runs) - len(self._resting)

    @property
    def due(self) -> Instant | None:
        """When to step again, if nothing comes in before."""
        dues = [] if self._desk.due is None else [self._desk.due]
        if self._ours and self._desk.mark.value > self._marked:
            dues.append(self._mark_at)
        return min(dues, default=None)

    def step(self, now: Instant, inputs: Iterable[i.Input] = ()) -> list[o.Output]:
        self._desk.now = now
        for given in inputs:
            if self._ours or type(given) is i.Gained:
                self._TAKE_IN[type(given)](self, given)
        for run in self._desk.wake():
            self._touched[run] = None
        for run in self._touched:
            self._push(run)
        self._touched.clear()
        if self._desk.doubtful:
            self._doubt()
        elif self._ours and now >= self._mark_at:
            self._save_mark()
        out, self._desk.out = self._desk.out, []
        return out

    # -- whose the shard is

    def _gain(self, given: i.Gained) -> None:
        self._begin(Desk(self._kinds, self._limits, given.epoch, given.mark), ours=True)
        self._desk.mark.hold(given.mark)  # until the scan is over
        self._scan = self._desk.ticket()
        self._desk.out.append(o.Scan(self._scan, given.mark))

    def _lose(self, _: i.Lost) -> None:
        self._begin(Desk(self._kinds, self._limits), ours=False)

    def _doubt(self, _: i.Doubtful | None = None) -> None:
        """Leave everything unacknowledged: if the shard is still ours, it comes again with the next epoch."""
        epoch = self._desk.epoch
        self._lose(i.Lost())
        self._desk.out.append(o.Abandon(epoch))

    def _begin(self, desk: Desk, *, ours: bool) -> None:
        """What the step has put out until now is still to be done."""
        desk.now, desk.out = self._desk.now, self._desk.out
        self._clear(desk, ours=ours)

    # -- work

    def _deliver(self, given: i.Deliver) -> None:
        command = given.command
        if command is not None:
            entry = Entry(given.id, TAGS[type(command)], command, [given.delivery], given.deliveries, given.reply)
        else:
            entry = Entry(given.id, "", None, [given.delivery], given.deliveries, given.reply)
            entry.verdict, entry.error = "broken", CommandUndecodable(id=given.id, reason=given.problem)
        self._hand(given.key, entry)

    def _fire(self, given: i.TimerDue) -> None:
        name = f"timer:{given.timer}@{given.due}"
        entry = Entry(name, "timer.fire", FireTimer(given.timer), [given.delivery], given.deliveries, timer=given.timer)
        run = self._hand(given.key, entry)
        run.horizon = max(run.horizon, given.due)
        self._desk.mark.fire(given.key, given.timer)

    def _settle(self, given: i.TimerSettled) -> None:
        self._desk.mark.settle(given.key, given.timer, taken=False)

    def _heal(self, given: i.Heal) -> None:
        run = self._runs.get(given.key)
        if run is None or HEAL not in run.hand:
            self._desk.mark.hold(self._desk.mark.start)
            self._hand(given.key, Entry(HEAL, HEAL))

    def _scanned(self, given: i.Scanned) -> None:
        if given.ticket == self._scan:
            self._scan = 0
            self._desk.mark.release(self._desk.mark.start)

    def _answer(self, given: i.Answer) -> None:
        run = answer(self._desk, given)
        if run is not None:
            self._touched[run] = None

    def _hand(self, key: RunKey, entry: Entry) -> Run:
        run = self._runs.get(key)
        if run is None:
            run = self._runs[key] = Run(key)
        else:
            self._resting.pop(key, None)
        same = run.hand.setdefault(entry.id, entry)
        if same is not entry:  # delivered again, or sent again, while it is in hand
            same.held += entry.held
            same.deliveries, same.reply = entry.deliveries, entry.reply
        self._touched[run] = None
        return run

    # -- runs

    def _push(self, run: Run) -> None:
        """On to where it waits for an answer, or rests."""
        while run.hand and not self._desk.doubtful:
            if run.phase == "resting":
                advance(self._desk, run)
            elif run.phase == "cold":
                load(self._desk, run)
            else:
                return
        if run.phase == "resting" and run.head.sequence:
            self._rest(run)
        elif run.phase in {"resting", "cold"}:
            del self._runs[run.key]

    def _rest(self, run: Run) -> None:
        self._resting[run.key] = None
        while len(self._runs) > self._limits.live and self._resting:
            key, _ = self._resting.popitem(last=False)
            del self._runs[key]

    def _save_mark(self) -> None:
        value = self._desk.mark.value
        if value > self._marked:
            self._marked, self._mark_at = value, Instant(self._desk.now + self._limits.mark_every)
            self._desk.out.append(o.SaveMark(self._desk.epoch, value))

    _TAKE_IN: ClassVar[dict[type[Any], Callable[[Any, Any], None]]] = {
        i.Deliver: _deliver,
        i.TimerDue: _fire,
        i.TimerSettled: _settle,
        i.Heal: _heal,
        i.Scanned: _scanned,
        i.Gained: _gain,
        i.Lost: _lose,
        i.Doubtful: _doubt,
        **dict.fromkeys((i.Loaded, i.Fetched, i.LastRead, i.Appended, i.Conflicted, i.Published, i.Failed), _answer),
    }
