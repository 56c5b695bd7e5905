"""Every condition printed in the seeds evaluates as its text says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.core.model.evaluate import Failure, Program
from penstock.expr.cel.compile import EngineName
from penstock.expr.evaluator import ExpressionEvaluator

FOLDER = Path(__file__).parents[3] / "fixtures" / "conditions"


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    variables: dict[str, Any]
    expected: bool | str


class Fixture(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    seed: str
    says: str
    condition: Any
    cases: list[Case]
    blobs: dict[str, str] = {}

    def load(self, reference: str) -> bytes:
        return self.blobs[reference].encode()


FIXTURES = {path.stem: msgspec.json.decode(path.read_bytes(), type=Fixture) for path in sorted(FOLDER.glob("*.json"))}
CASES = [
    pytest.param(fixture, case, id=f"{name}: {case.name}")
    for name, fixture in FIXTURES.items()
    for case in fixture.cases
]


@pytest.mark.parametrize(("fixture", "case"), CASES)
def test_a_condition_of_the_seeds_evaluates_as_its_text_says(fixture: Fixture, case: Case, engine: EngineName) -> None:
    condition = ExpressionEvaluator(engine, fixture.load).condition(fixture.condition)
    verdicts = {program.id: decide(program, case.variables) for program in condition.programs}
    result = condition.evaluate(case.variables, verdicts)
    if case.expected == "failure":
        assert isinstance(result, Failure)
    else:
        assert result is case.expected


def decide(program: Program, variables: dict[str, Any]) -> bool:
    """The verdict of a fixture's own code; strangers' code is the sandbox's, and the sandbox has its own tests."""
    namespace: dict[str, Any] = {}
    exec(program.code, namespace)  # noqa: S102 - it is in this repository
    return bool(namespace["evaluate"](variables["output"], variables["nodes"]))
