"""A decider that does on a signal what its name says, and counts how often each was applied. It fences nothing."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from penstock.core.graph.errors import IllegalTransition
from penstock.core.model import commands as c
from penstock.core.model import effects as f
from penstock.core.model import events as e
from penstock.core.model.decider import NO_FACTS, Facts, Missing, Need
from penstock.core.model.time import Instant


class Ledger(msgspec.Struct, array_like=True):
    status: str = "pending"
    applied: dict[str, int] = {}
    tasks: dict[int, str] = {}
    timers: dict[str, Instant] = {}
    incidents: list[str] = []
    yields: bool = False
    parent: str | None = None
    last: Instant = Instant(0)
    spoiled: bool = False
    """Changed without an event: nobody may ever see it."""


class LedgerDecider:
    def __init__(self) -> None:
        self.decided = 0
        self.fails_at_effects = False
        self.knows_its_program = True

    def initial(self) -> Ledger:
        return Ledger()

    def decide(self, state: Ledger, command: c.Command, now: Instant, facts: Facts = NO_FACTS) -> list[e.Event] | Need:
        self.decided += 1
        assert not state.spoiled
        found = self._events(state, command, now, facts)
        if isinstance(found, list):
            for event in found:
                self.evolve(state, event, now)
        return found

    def _events(self, state: Ledger, command: c.Command, now: Instant, facts: Facts) -> list[e.Event] | Need:
        match command:
            case c.Start():
                if state.status != "pending":
                    return []
                return [e.RunStarted(command.workflow, "", command.input, "none", command.seed, parent=command.parent)]
            case c.TaskResult():
                done = command.token in state.tasks
                return [e.NodeCompleted(command.token, command.output)] if done else []
            case c.FireTimer():
                return [e.TimerFired(command.timer)] if command.timer in state.timers else []
            case c.Continue():
                return [e.RunResumed()] if state.yields else []
            case c.SendSignal():
                return self._signal(state, command, now, facts)
        raise TypeError(type(command).__name__)

    def _signal(self, state: Ledger, command: c.SendSignal, now: Instant, facts: Facts) -> list[e.Event] | Need:
        received = e.SignalReceived(command.signal, command.name, command.payload)
        if command.name in {"blob", "memo", "insatiable"}:
            return self._with_facts(state, command, facts)
        if command.name == "refuse":
            raise IllegalTransition(what="the run", now="open", asked="refused")
        if command.name == "raise":
            state.spoiled = True
            raise RuntimeError(command.signal)
        delay = command.payload if isinstance(command.payload, int) else 0
        more: dict[str, list[e.Event]] = {
            "note": [],
            "task": [e.NodeDispatched(sum(state.applied.values()) + 1, 1)],
            "timer": [e.TimerSet(command.signal, Instant(now + delay), "wait")],
            "clear": [e.TimerCleared(timer) for timer in state.timers],
            "yield": [e.RunYielded()],
            "end": [e.RunClosed()],
        }
        return [] if command.name == "nothing" else [received, *more[command.name]]

    def _with_facts(self, state: Ledger, command: c.SendSignal, facts: Facts) -> list[e.Event] | Need:
        name = command.name
        if name in facts.blobs or name in facts.memos:
            memo = facts.memos.get(name)
            return [e.SignalReceived(command.signal, "note", memo.output if memo else facts.blobs.get(name))]
        state.spoiled = True
        if name == "memo":
            return Need(memos=frozenset({name}))
        return Need(blobs=frozenset({"blob"}))

    def evolve(self, state: Ledger, event: e.Event, at: Instant) -> None:
        state.last = at
        match event:
            case e.RunStarted():
                state.status, state.parent = "running", event.parent
            case e.SignalReceived():
                _count(state, event.signal)
            case e.NodeDispatched():
                state.tasks[event.token] = "open"
            case e.NodeCompleted():
                del state.tasks[event.token]
                _count(state, f"t{event.token}")
            case e.TimerSet():
                state.timers[event.timer] = event.due
            case e.TimerFired() | e.TimerCleared():
                del state.timers[event.timer]
                _count(state, f"f{event.timer}")
            case e.RunYielded() | e.RunResumed():
                state.yields = isinstance(event, e.RunYielded)
            case e.RunClosed():
                state.status = "closed"
            case e.IncidentRaised():
                state.incidents.append(event.fault.code)

    def effects(self, state: Ledger, events: Iterable[e.Event], facts: Facts = NO_FACTS) -> list[f.Effect]:
        self._look_up(facts)
        found: list[f.Effect] = []
        for event in events:
            match event:
                case e.NodeDispatched() if event.token in state.tasks:
                    found.append(task(event.token))
                case e.TimerSet() if event.timer in state.timers:
                    found.append(f.ArmTimer(event.timer, event.due))
                case e.TimerCleared():
                    found.append(f.DropTimer(event.timer))
                case e.RunYielded():
                    found.append(f.ContinueRun())
                case e.RunClosed() if state.parent:
                    found.append(f.ReportOutcome(state.parent, "completed"))
        return found

    def outstanding(self, state: Ledger, facts: Facts = NO_FACTS) -> list[f.Effect]:
        self._look_up(facts)
        tasks: list[f.Effect] = [task(token) for token in state.tasks]
        return tasks + [f.ArmTimer(timer, due) for timer, due in state.timers.items()]

    def _look_up(self, facts: Facts) -> None:
        """Like a program that is compiled once, and may be gone from the cache."""
        if self.fails_at_effects:
            raise LookupError("no program")
        if not self.knows_its_program and "program" not in facts.definitions:
            raise Missing(Need(definitions=frozenset({"program"})))
        self.knows_its_program = True


def _count(state: Ledger, name: str) -> None:
    state.applied[name] = state.applied.get(name, 0) + 1


def task(token: int) -> f.DispatchTask:
    return f.DispatchTask(token, 1, "n", "node", "task", "q", None, None, f"t{token}")
