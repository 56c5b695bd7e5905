"""Output mappings: what is written where, and what stands in the way."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.model.evaluate import Failure, Json, apply_changes
from penstock.expr.errors import MappingInvalid
from penstock.expr.evaluator import ExpressionEvaluator

VARIABLES: dict[str, Any] = {"output": {"sum": 5, "tier": "gold", "lines": ["a"]}, "state": {"n": 1}}

TABLE: list[tuple[Any, dict[str, Any], dict[str, Any]]] = [
    ({"total": "output.sum"}, {}, {"total": 5}),
    ({"state.total": "$.sum"}, {"total": 1, "kept": 2}, {"total": 5, "kept": 2}),
    ({"customer.tier": "output.tier"}, {"customer": {"id": 1}}, {"customer": {"id": 1, "tier": "gold"}}),
    ({"a.b.c": "1"}, {}, {"a": {"b": {"c": 1}}}),
    ({"both": {"x": "output.sum", "y": "$.lines[0]"}}, {}, {"both": {"x": 5, "y": "a"}}),
    ({"all": "$"}, {}, {"all": VARIABLES["output"]}),
    ({"set": {"n": "state.n + 1"}}, {"n": 1}, {"n": 2}),
    ({"append": {"log": "output.sum"}}, {"log": [1]}, {"log": [1, 5]}),
    ({"append": {"log": "output.lines"}}, {}, {"log": [["a"]]}),
    ({"delete": ["draft", "a.b", "zz.y"]}, {"draft": 1, "a": {"b": 1, "c": 2}}, {"a": {"c": 2}, "zz": {}}),
    ({"set": {"x": "1"}, "append": {"l": "2"}, "delete": ["old"]}, {"old": 1}, {"x": 1, "l": [2]}),
    ({"set": {"x": "1"}, "y": "2"}, {}, {"set": {"x": 1}, "y": 2}),
    ({}, {"a": 1}, {"a": 1}),
]


@pytest.mark.parametrize(("source", "before", "after"), TABLE)
def test_an_output_mapping_writes_into_the_scope(
    source: Json, before: dict[str, Any], after: dict[str, Any], evaluator: ExpressionEvaluator
) -> None:
    changes = evaluator.output_mapping(source).evaluate(VARIABLES)
    assert not isinstance(changes, Failure)
    assert apply_changes(before, changes) == after


def test_the_scope_itself_is_not_touched(evaluator: ExpressionEvaluator) -> None:
    before: dict[str, Any] = {"a": {"b": [1]}}
    changes = evaluator.output_mapping({"append": {"a.b": "2"}}).evaluate(VARIABLES)
    assert not isinstance(changes, Failure)
    assert apply_changes(before, changes) == {"a": {"b": [1, 2]}}
    assert before == {"a": {"b": [1]}}


@pytest.mark.parametrize("source", [{"a.b": "1"}, {"append": {"a": "1"}}, {"delete": ["a.b"]}])
def test_a_value_in_the_way_is_a_failure(source: Json, evaluator: ExpressionEvaluator) -> None:
    changes = evaluator.output_mapping(source).evaluate(VARIABLES)
    assert not isinstance(changes, Failure)
    result = apply_changes({"a": 5}, changes)
    assert isinstance(result, Failure)
    assert result.code == "EXPR_TARGET"


def test_a_failing_expression_writes_nothing(evaluator: ExpressionEvaluator) -> None:
    result = evaluator.output_mapping({"a": "output.sum", "b": "output.zz"}).evaluate(VARIABLES)
    assert isinstance(result, Failure)
    assert result.details["field"] == "b"


@pytest.mark.parametrize(
    "source",
    [
        5,
        "output.sum",
        ["a"],
        {"set": 5},
        {"append": []},
        {"delete": "a"},
        {"delete": [1]},
        {"a..b": "1"},
        {"": "1"},
        {"a": "output."},
    ],
)
def test_what_is_not_an_output_mapping_is_refused(source: Json, evaluator: ExpressionEvaluator) -> None:
    with pytest.raises(MappingInvalid):
        evaluator.output_mapping(source)


def test_what_is_read_is_known(evaluator: ExpressionEvaluator) -> None:
    mapping = evaluator.output_mapping({"a": "$.lines[0]", "append": {"$literal": "no expression: a field"}})
    assert ("output", "lines") in mapping.reads
