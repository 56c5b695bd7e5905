"""Predicts a run: plays the canonical schedule, then every other way the schedule's choices can fall."""

from __future__ import annotations

from typing import Final

from penstock.core.model.evaluate import Evaluator
from penstock.testkit.reference.choices import Choices, explore
from penstock.testkit.reference.graph import Graph
from penstock.testkit.reference.interpret import Run
from penstock.testkit.reference.prediction import Ending, Prediction
from penstock.testkit.reference.races import Races
from penstock.testkit.reference.script import Json, Script

MAX_ENDINGS: Final = 64


class Reference:
    """A definition, read once; predicts any number of runs of it."""

    def __init__(self, definition: Json, evaluator: Evaluator) -> None:
        self._graph = Graph(definition, evaluator)

    def predict(self, run_input: Json, script: Script) -> Prediction:
        races = Races()
        endings: list[Ending] = []

        def play(choices: Choices) -> Ending:
            return Run(self._graph, run_input, script, choices, races).play()

        for tried, ending in enumerate(explore(play), start=1):
            if ending not in endings:
                endings.append(ending)
            if races.found:
                break
            if tried == MAX_ENDINGS:
                races.report(f"there are more than {MAX_ENDINGS} ways for the schedule to choose")
                break
        return Prediction(tuple(endings), tuple(races.found))
