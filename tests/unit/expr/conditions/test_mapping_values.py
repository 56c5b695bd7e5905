"""Input mappings: expressions, paths, templates, literals; all problems at once."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.model.evaluate import Failure, Json
from penstock.expr.errors import MappingInvalid
from penstock.expr.evaluator import ExpressionEvaluator

VARIABLES: dict[str, Any] = {
    "input": {"name": "Ada", "n": 3, "big": 2**70, "items": [{"id": 1}, {"id": 2}], "z": {"b": 1, "a": 2}},
    "state": {"ok": True, "nothing": None},
    "nodes": {"score": {"output": {"v": 0.5}}},
    "output": {"x": 1},
    "now": 1_704_067_200_000_000,
}

TABLE: list[tuple[Any, Any]] = [
    (42, 42),
    (1.5, 1.5),
    (True, True),
    (None, None),
    ("input.n", 3),
    ("input.n + 1", 4),
    ("'text'", "text"),
    ("input.z", {"b": 1, "a": 2}),
    ("input.big", 2**70),
    ("now", "2024-01-01T00:00:00Z"),
    ("ctx.score.output.v", 0.5),
    ("$.input.name", "Ada"),
    ("$.input.items[*].id", [1, 2]),
    ("$.input.items[?@.id == $.output.x].id", [1]),
    ("$.input.items[0]", {"id": 1}),
    ("$.input.zz", None),
    ("$.input.items[?@.id > 5]", []),
    ("$.input.items.length()", 2),
    ("$.ctx.score.output.v", 0.5),
    ("$['nodes'].score.output.v", 0.5),
    ("Hello {{ input.name }}!", "Hello Ada!"),
    ("{{ input.n }}", 3),
    ("{{input.items}}", [{"id": 1}, {"id": 2}]),
    (" {{ input.n }}", " 3"),
    ("{{ input.n }}{{ state.ok }}{{ state.nothing }}", "3truenull"),
    ("{{ input.z }}", {"b": 1, "a": 2}),
    ("z={{ input.items }}", 'z=[{"id":1},{"id":2}]'),
    ("{{ $.input.items[*].id }}", [1, 2]),
    ("{{ {'a': {'b': 1}} }}", {"a": {"b": 1}}),
    ("{{ '}}' }} and {{ '{{' }}", "}} and {{"),
    ({"a": "input.n", "b": ["$.input.name", 1, {"c": "x {{ input.n }}"}]}, {"a": 3, "b": ["Ada", 1, {"c": "x 3"}]}),
    ({"$literal": "input.n"}, "input.n"),
    ({"a": {"$literal": {"b": "{{ x }}"}}}, {"a": {"b": "{{ x }}"}}),
    ({"$literal": 1, "b": 2}, {"$literal": 1, "b": 2}),
    ({}, {}),
    ([], []),
]


@pytest.mark.parametrize(("source", "expected"), TABLE)
def test_a_value_is_built_from_the_variables(source: Json, expected: Json, evaluator: ExpressionEvaluator) -> None:
    result = evaluator.input_mapping(source).evaluate(VARIABLES)
    assert result == expected
    assert type(result) is type(expected)


def test_an_object_keeps_the_order_of_its_fields(evaluator: ExpressionEvaluator) -> None:
    result = evaluator.input_mapping({"z": "1", "a": "2", "m": "input.z"}).evaluate(VARIABLES)
    assert not isinstance(result, Failure)
    assert [*result] == ["z", "a", "m"]
    assert [*result["m"]] == ["b", "a"]


@pytest.mark.parametrize(
    ("source", "field"),
    [
        ({"a": 1, "b": {"c": ["input.n", "input.zz"]}}, "b.c[1]"),
        ({"a": "Dear {{ input.zz }}"}, "a"),
        ({"a": "$.input.n.length()"}, "a"),
        ("input.n / 0", ""),
    ],
)
def test_a_failure_names_its_field(source: Json, field: str, evaluator: ExpressionEvaluator) -> None:
    result = evaluator.input_mapping(source).evaluate(VARIABLES)
    assert isinstance(result, Failure)
    assert result.details["field"] == field


def test_all_problems_are_reported_with_field_line_and_column(evaluator: ExpressionEvaluator) -> None:
    source = {
        "fine": "input.n",
        "syntax": "input.",
        "unknown": ["inputt.n"],
        "path": {"deep": "$.a[?"},
        "root": "$.nowhere.x",
        "template": "Dear\n{{ input.name }}, {{ input. }}",
        "open": "Dear {{ input.name",
    }
    with pytest.raises(MappingInvalid) as refused:
        evaluator.input_mapping(source)
    problems = refused.value.attributes["problems"]
    assert isinstance(problems, tuple)
    assert {p.attributes["field"]: (p.attributes["line"], p.attributes["column"]) for p in problems} == {
        "syntax": (1, 7),
        "unknown[0]": (1, 1),
        "path.deep": (1, 6),
        "root": (1, 1),
        "template": (2, 28),
        "open": (1, 6),
    }


def test_a_mapping_that_nests_too_deeply_is_refused(evaluator: ExpressionEvaluator) -> None:
    source: Json = 1
    for _ in range(200):
        source = {"a": source}
    with pytest.raises(MappingInvalid):
        evaluator.input_mapping(source)


def test_a_template_cannot_grow_without_end(evaluator: ExpressionEvaluator) -> None:
    result = evaluator.input_mapping("{{ input.s }}" * 3).evaluate({"input": {"s": "x" * 500_000}})
    assert isinstance(result, Failure)
    assert result.code == "EXPR_LIMIT"


def test_what_a_mapping_reads_is_known(evaluator: ExpressionEvaluator) -> None:
    source = {"a": "input.n + state.k", "b": ["$.ctx.score.output.v"], "c": "{{ _branch.item }}!"}
    assert evaluator.input_mapping(source).reads == {
        ("input", "n"),
        ("state", "k"),
        ("nodes", "score", "output", "v"),
        ("_branch", "item"),
    }
