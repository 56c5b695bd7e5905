"""The graph decider as the loop sees it: the pure functions, with the program of each run looked up."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.core.graph import effects, evolve
from penstock.core.graph.decide import decide
from penstock.core.graph.errors import UnknownTarget
from penstock.core.graph.program import Program
from penstock.core.graph.programs import Programs
from penstock.core.graph.state import State
from penstock.core.model.commands import Command, Start
from penstock.core.model.decider import NO_FACTS, Facts, Missing, Need
from penstock.core.model.effects import Effect
from penstock.core.model.events import Event
from penstock.core.model.time import Instant


class GraphDecider:
    """Implements `Decider[State]`. `effects` and `outstanding` raise `Missing` for a run whose definition they lack."""

    def __init__(self, programs: Programs) -> None:
        self._programs = programs

    def initial(self) -> State:
        return State()

    def decide(self, state: State, command: Command, now: Instant, facts: Facts = NO_FACTS) -> list[Event] | Need:
        try:
            return decide(self._program(state, command, facts), state, command, now, facts)
        except Missing as missing:
            return missing.need

    def evolve(self, state: State, event: Event, at: Instant) -> None:
        evolve.evolve(state, event, at)

    def effects(self, state: State, events: Iterable[Event], facts: Facts = NO_FACTS) -> list[Effect]:
        return effects.effects(self._programs.find(state, facts.definitions), state, events)

    def outstanding(self, state: State, facts: Facts = NO_FACTS) -> list[Effect]:
        return effects.outstanding(self._programs.find(state, facts.definitions), state)

    def _program(self, state: State, command: Command, facts: Facts) -> Program:
        if state.phase != "pending":
            return self._programs.find(state, facts.definitions)
        if not isinstance(command, Start):
            raise UnknownTarget(kind="run", name="")
        return self._programs.pinned(command.graph, facts.definitions)
