"""Generated definitions compile, are bounded and mixed; predictions of them are repeatable and hold in any order."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from penstock.core.definition import compile_definition
from penstock.testkit import generate, reference
from penstock.testkit.generate import CALM, EVERYTHING, Features, Generated, definition
from penstock.testkit.reference import Ending, Observed, Prediction, Reference
from penstock.testkit.reference.choices import Choices
from penstock.testkit.reference.graph import Graph
from penstock.testkit.reference.interpret import Run
from penstock.testkit.reference.races import Races
from penstock.testkit.reference.scope import Scope, Token
from tests.unit.testkit.reference.predicting import EVALUATOR

MIXES = {"default": Features(), "calm": CALM, "everything": EVERYTHING}


def predicted(generated: Generated) -> Prediction:
    return Reference(generated.definition, EVALUATOR).predict(generated.input, generated.script)


def observed(ending: Ending) -> Observed:
    """A run that ended like this, with nothing that only may have run."""
    code = ending.codes[0] if ending.codes else None
    return Observed(ending.outcome, code, ending.output, ending.state, ending.certain())


class Shuffled(Run):
    """Another schedule: tokens of a scope move in random order."""

    random = Random(0)  # noqa: S311 - a repeatable schedule

    def next_token(self, scope: Scope) -> Token:
        scope.ready.rotate(self.random.randrange(len(scope.ready)))
        return super().next_token(scope)


@pytest.mark.parametrize("mix", MIXES)
def test_every_definition_compiles(mix: str) -> None:
    for seed in range(1_000):
        compile_definition(definition(seed, features=MIXES[mix]).definition, evaluator=EVALUATOR)


@pytest.mark.parametrize("size", [1, 3, 40])
def test_any_size_compiles(size: int) -> None:
    for seed in range(60):
        compile_definition(definition(seed, size).definition, evaluator=EVALUATOR)


def test_the_same_seed_gives_the_same_definition_and_prediction() -> None:
    for seed in range(200):
        one, other = definition(seed), definition(seed)
        assert one == other
        assert predicted(one) == predicted(other)


def test_the_mix_is_rich_and_bounded() -> None:
    found: Counter[str] = Counter()
    for seed in range(600):
        generated = definition(seed)
        prediction = predicted(generated)
        ending = prediction.ending
        everything = (*ending.executions, *ending.maybe)
        assert len(everything) < 500
        text = repr(generated.definition)
        found.update(
            word for word in ("synchronize", "fan_in", "loop", "wait_for_all", "error", "human") if word in text
        )
        found.update([ending.outcome, f"depth {max((len(one.path) for one in everything), default=0)}"])
        found["exact"] += prediction.exact
        found["several"] += len(prediction.endings) > 1
        found["compensated"] += bool(ending.compensations)
    assert found["completed"] > 300
    assert found["failed"] > 100
    assert found["exact"] > 480
    assert all(found[word] > 60 for word in ("synchronize", "fan_in", "loop", "wait_for_all", "compensated"))
    assert all(found[depth] > 0 for depth in ("depth 1", "depth 2", "several"))


def test_a_calm_definition_completes_in_one_way() -> None:
    for seed in range(300):
        prediction = predicted(definition(seed, features=CALM))
        assert prediction.ending.outcome == "completed"
        assert len(prediction.endings) == 1


def test_an_exact_prediction_holds_in_every_order() -> None:
    """The proof that races are found: what is called exact does not depend on the order of tokens."""
    for seed in range(400):
        generated = definition(seed, features=EVERYTHING)
        prediction = predicted(generated)
        if not prediction.exact:
            continue
        graph = Graph(generated.definition, EVALUATOR)
        for _ in range(3):
            races = Races()
            ending = Shuffled(graph, generated.input, generated.script, Choices([]), races).play()
            assert not races.found, seed
            assert prediction.differences(observed(ending)) == (), seed


def test_neither_the_decider_nor_a_test_framework_is_imported() -> None:
    folders = [Path(module.__file__ or "").parent for module in (generate, reference)]
    imported = {
        name
        for folder in folders
        for source in folder.glob("*.py")
        for node in ast.walk(ast.parse(source.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
    }
    assert {"penstock.core.model.evaluate", "penstock.testkit.reference.scope"} <= imported
    assert not [name for name in imported if name.startswith(("penstock.core.graph", "penstock.core.turn", "pytest"))]
    assert "hypothesis" not in imported


def test_a_run_that_differs_is_told() -> None:
    ending = predicted(definition(1, features=CALM)).ending
    prediction = Prediction((ending,), ())
    assert prediction.differences(observed(ending)) == ()
    wrong = Observed("failed", "E", None, {"x": 1}, Counter())
    assert len(prediction.differences(wrong)) >= 3
