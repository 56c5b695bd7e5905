"""Predicts a definition, after the compiler has accepted it: a case that cannot be registered proves nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from penstock.core.definition import compile_definition
from penstock.expr.evaluator import ExpressionEvaluator
from penstock.testkit.reference import Answer, ByNode, Completed, Ending, Failed, Prediction, Reference

Json: TypeAlias = Any

Answers: TypeAlias = Mapping[str, Answer | list[Answer]]

EVALUATOR = ExpressionEvaluator()

BAD = Failed("E_BAD")


class Case(Struct, frozen=True):
    """A sentence of the rules, an example of it, and what must come out; `...` is not looked at."""

    id: str
    nodes: dict[str, Json]
    transitions: list[Json]
    ran: list[str]
    answers: Answers = {}
    more: dict[str, Json] = {}
    codes: tuple[str | None, ...] = ()
    output: Json = ...
    state: Json = ...
    input: tuple[str, list[Json]] = ("", [])
    maybe: list[str] = []


def check(case: Case) -> None:
    prediction = predict(case.nodes, case.transitions, case.answers, **case.more)
    ending = prediction.ending
    assert prediction.exact, prediction
    assert (ran(ending), maybe(ending), ending.codes) == (case.ran, case.maybe, case.codes)
    assert ending.outcome == ("failed" if case.codes else "completed")
    assert case.output is ... or ending.output == case.output
    assert case.state is ... or ending.state == case.state
    assert not case.input[0] or inputs(ending, case.input[0]) == case.input[1]


def out(**fields: Json) -> Completed:
    return Completed(fields)


def predict(nodes: dict[str, Json], transitions: list[Json], answers: Answers, **more: Json) -> Prediction:
    run_input = more.pop("run_input", {"n": 1})
    definition = {"nodes": nodes, "transitions": transitions, **more}
    compile_definition(definition, evaluator=EVALUATOR)
    return Reference(definition, EVALUATOR).predict(run_input, ByNode(answers))


def ran(ending: Ending) -> list[str]:
    """Nodes that surely ran, sorted, with their branches: `b`, `b@g0`, `b@g0.h1`."""
    return sorted(_name(one.node, one.path) for one in ending.executions)


def maybe(ending: Ending) -> list[str]:
    return sorted(_name(one.node, one.path) for one in ending.maybe)


def inputs(ending: Ending, node: str) -> list[Json]:
    return [one.input for one in ending.executions if one.node == node]


def _name(node: str, path: tuple[tuple[str, int], ...]) -> str:
    return node + ("@" if path else "") + ".".join(f"{group}{index}" for group, index in path)
