"""Answers by chance."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.expr.evaluator import ExpressionEvaluator
from penstock.testkit.workflow import Workflow
from penstock.testkit.workflow.chance import Chance

Json = Any

SCHEMAS: dict[str, Json] = {
    "an object": {
        "type": "object",
        "properties": {
            "n": {"type": "integer", "minimum": 3, "maximum": 4},
            "deep": {"properties": {"x": {"type": "null"}}},
        },
        "required": ["n", "more"],
    },
    "a list": {"type": "array", "items": {"type": "string", "minLength": 9}, "minItems": 2, "maxItems": 3},
    "a text": {"type": "string", "maxLength": 2},
    "a day": {"type": "string", "format": "date"},
    "a moment": {"type": "string", "format": "date-time"},
    "a number": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 2},
    "below zero": {"type": "integer", "maximum": -5},
    "steps": {"type": "integer", "multipleOf": 7, "minimum": 1},
    "one of a list": {"enum": [1, "two", None]},
    "a constant": {"const": {"x": 1}},
    "one of two": {"oneOf": [{"type": "integer"}, {"type": "boolean"}]},
    "any of two types": {"type": ["string", "null"]},
    "all of two": {
        "allOf": [
            {"properties": {"a": {"type": "integer"}}, "required": ["a"]},
            {"properties": {"b": {"type": "boolean"}}, "required": ["b"]},
        ]
    },
    "a reference": {"$ref": "#/$defs/size", "$defs": {"size": {"enum": ["S", "M"]}}},
    "examples": {"type": "string", "pattern": "^x+$", "examples": ["x", "xx"]},
}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
@given(seed=st.integers())
def test_values_fit_their_schema(schema: Json, seed: int) -> None:
    value = Chance(seed).value(schema)
    condition = ExpressionEvaluator().condition({"type": "schema_validation", "schema": schema})
    assert condition.evaluate({"output": value}) is True


def test_a_schema_that_refers_to_itself_comes_to_an_end() -> None:
    schema = {"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]}
    assert Chance(1).value(schema)["next"] is not None


def everything() -> Workflow:
    """Asks for all that can be asked for, more than once."""
    code = {"type": "python_sandbox", "code": "def evaluate(output, context):\n    return True\n"}
    agent = {"branch": {"type": "agent_driven", "available_next_nodes": ["signal", "child"]}}
    nodes = {
        "human": {"type": "human"},
        "agent": agent,
        "signal": {"type": "wait", "wait": {"signal": "s"}},
        "child": {"type": "workflow", "workflow": "elsewhere"},
        "many": {"output_schema": {"type": "array", "items": {}, "minItems": 3}},
        "work": {},
        "end": {"fan_in": "all"},
    }
    ways = [
        {"from": "human", "to": "agent"},
        {"from": "signal", "to": "many"},
        {"from": "child", "to": "many"},
        {"from": "many", "to": "work", "foreach": "output"},
        {"from": "work", "to": "end", "when": code},
        {"from": "work", "to": "end", "default": True},
    ]
    return Workflow({"name": "w", "nodes": nodes, "transitions": ways})


def test_the_same_seed_gives_the_same_run_and_another_one_another() -> None:
    runs = [everything().at_random(seed).start().until_closed() for seed in (1, 1, 2, 3, 4)]
    assert {run.outcome for run in runs} == {"completed"}
    assert runs[0].history() == runs[1].history()
    assert len({run.history() for run in runs}) > 2


def test_chance_is_only_for_what_is_not_scripted() -> None:
    run = everything().at_random(3).start().on("many", [1, 2, 3, 4]).until_closed()
    assert run.visits("work") == 4
    assert "many" not in run.script.drawn


@pytest.mark.parametrize(
    ("when", "values"),
    [
        ("output.x", {True, False}),
        ("!output.x", {True, False}),
        ("output.x == true", {True, False}),
        ("output.x == 'busy' || output.x == \"idle\"", {"busy", "idle", "other"}),
        ("output.x > 10", {9, 10, 11}),
        ("output.x % 2 == 0", set(range(10))),
        ("output.x >= 0.5", {-0.5, 0.5, 1.5}),
        ({"type": "cel", "expression": "output.x != 3"}, {2, 3, 4}),
    ],
)
def test_without_a_schema_outputs_fit_the_conditions_that_read_them(when: Json, values: set[Json]) -> None:
    ways = [{"from": "a", "to": "b", "when": when}, {"from": "a", "to": "c", "default": True}]
    workflow = Workflow({"name": "w", "nodes": {"a": {}, "b": {}, "c": {}}, "transitions": ways})
    runs = [workflow.at_random(seed).start().until_closed() for seed in range(30)]
    assert {run.outcome for run in runs} == {"completed"}
    assert {run.outputs("a")[0]["x"] for run in runs} == values
    assert {run.path[1] for run in runs} == {"b", "c"}


def test_lists_and_what_later_nodes_read_are_there() -> None:
    nodes = {
        "a": {"output": {"n": "output.deep.n"}, "output_schema": {"properties": {"name": {"type": "string"}}}},
        "b": {"input": {"item": "_branch.item", "name": "nodes.a.output.name"}},
        "c": {"fan_in": "all"},
    }
    ways = [{"from": "a", "to": "b", "foreach": "output.items"}, {"from": "b", "to": "c"}]
    workflow = Workflow({"name": "w", "nodes": nodes, "transitions": ways})
    runs = [workflow.at_random(seed).start().until_closed() for seed in range(10)]
    assert {run.outcome for run in runs} == {"completed"}
    assert len({run.visits("b") for run in runs}) > 1
