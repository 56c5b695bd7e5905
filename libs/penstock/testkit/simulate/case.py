"""What is simulated: a definition with an input and a script, compiled and predicted once for many schedules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from penstock.core.graph.decider import GraphDecider
from penstock.core.graph.program import Program
from penstock.core.graph.programs import Programs
from penstock.core.graph.state import State
from penstock.core.model.commands import Command
from penstock.core.model.decider import NO_FACTS, Facts, Need
from penstock.core.model.effects import Effect
from penstock.core.model.evaluate import Evaluator
from penstock.core.model.events import Event
from penstock.core.model.time import Instant
from penstock.expr.evaluator import ExpressionEvaluator
from penstock.testkit.reference import Prediction, Reference, Script

Json: TypeAlias = Any

EVALUATOR = ExpressionEvaluator()


class WatchedDecider(GraphDecider):
    """The real one, and the state that it was last asked about: what the owner believes."""

    live: State | None = None

    def decide(self, state: State, command: Command, now: Instant, facts: Facts = NO_FACTS) -> list[Event] | Need:
        self.live = state
        return super().decide(state, command, now, facts)

    def effects(self, state: State, events: Iterable[Event], facts: Facts = NO_FACTS) -> list[Effect]:
        self.live = state
        return super().effects(state, events, facts)

    def outstanding(self, state: State, facts: Facts = NO_FACTS) -> list[Effect]:
        self.live = state
        return super().outstanding(state, facts)


class Case:
    """Raises `DefinitionInvalid`."""

    def __init__(
        self,
        definition: Json,
        run_input: Json,
        script: Script,
        *,
        evaluator: Evaluator = EVALUATOR,
        decider: Callable[[Programs], WatchedDecider] = WatchedDecider,
    ) -> None:
        self.definition, self.input, self.script = definition, run_input, script
        self._evaluator, self._decider = evaluator, decider
        self.program = Programs(evaluator).compile(definition)
        self.hash = self.program.source.hash if self.program.source else ""
        self.signals = sorted(
            {rule.wait.signal for rule in self.program.graph.nodes.values() if rule.wait and rule.wait.signal}
        )
        self.verified: dict[bytes, dict[bytes, Effect]] = {}
        """Logs that were decided again, by the digest at their end, with the effects that follow from each."""
        self.prediction: Prediction = Reference(definition, evaluator).predict(run_input, script)

    def decider(self) -> WatchedDecider:
        """With nothing in its cache, but compiled at no cost: that is not what is simulated."""
        return self._decider(_Compiled(self._evaluator, self.program))


class _Compiled(Programs):
    def __init__(self, evaluator: Evaluator, program: Program) -> None:
        super().__init__(evaluator)
        self._program = program

    def compile(self, definition: Json) -> Program:
        source = self._program.source
        return self._program if source and source.definition is definition else super().compile(definition)
