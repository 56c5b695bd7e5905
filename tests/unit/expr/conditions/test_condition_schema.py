"""Schema conditions: inline or stored, inverted, and never fetched or exploding."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.model.evaluate import Failure, Json
from penstock.expr.errors import ConditionInvalid, ExpressionTooComplex
from penstock.expr.evaluator import ExpressionEvaluator

BLOBS = {"cas://sha256:good": b'{"type": "integer"}', "cas://sha256:text": b"not json", "cas://sha256:list": b"[1]"}


def load(reference: str) -> bytes:
    return BLOBS[reference]


def evaluate(source: dict[str, Any], output: Json) -> bool | Failure:
    return (
        ExpressionEvaluator(load_blob=load)
        .condition({"type": "schema_validation", **source})
        .evaluate({"output": output})
    )


@pytest.mark.parametrize(
    ("source", "output", "expected"),
    [
        ({"schema": {"type": "object"}}, {}, True),
        ({"schema": {"type": "object"}}, [], False),
        ({"schema": {"type": "object"}, "invert": True}, [], True),
        ({"schema": {"type": "object"}, "invert": False}, {}, True),
        ({"schema": {"type": "integer"}}, 80.0, True),
        ({"schema": True}, None, True),
        ({"schema": False}, None, False),
        ({"schema_ref": "cas://sha256:good"}, 7, True),
        ({"schema_ref": "cas://sha256:good", "invert": True}, 7, False),
        ({"schema": {"$ref": "#/$defs/n", "$defs": {"n": {"minimum": 5}}}}, 4, False),
        ({"schema": {"pattern": "^(?=.*[0-9]).{3,}$"}}, "ab1", True),
        ({"schema": {"$schema": "http://json-schema.org/draft-07/schema#", "type": "string"}}, "x", True),
        ({"schema": {"properties": {"child": {"$ref": "#"}}, "type": "object"}}, {"child": {"child": 1}}, False),
    ],
)
def test_the_output_matches_or_not(source: dict[str, Any], output: Json, expected: bool) -> None:
    assert evaluate(source, output) is expected


@pytest.mark.parametrize(
    "source",
    [
        {},
        {"schema": 5},
        {"schema": {"type": "nonsense"}},
        {"schema": {"pattern": "("}},
        {"schema": {"$ref": "#/$defs/missing"}},
        {"schema": {"$ref": "http://127.0.0.1:1/schema.json"}},
        {"schema": {"$ref": "file:///etc/hostname"}},
        {"schema": {"$schema": "http://127.0.0.1:1/meta"}},
        {"schema_ref": "cas://sha256:unknown"},
        {"schema_ref": "cas://sha256:text"},
        {"schema_ref": "cas://sha256:list"},
        {"schema": {}, "invert": "yes"},
        {"schema": {}, "schema_ref": "cas://sha256:good"},
    ],
)
def test_a_schema_that_cannot_be_used_is_refused(source: dict[str, Any]) -> None:
    with pytest.raises(ConditionInvalid):
        evaluate(source, {})


def doubling(levels: int, reference: str) -> dict[str, Any]:
    definitions: dict[str, Any] = {"a0": {"$anchor": "a0", "type": "object"}}
    for level in range(1, levels):
        twice = [{"$ref": reference.format(level - 1)}] * 2
        definitions[f"a{level}"] = {"$anchor": f"a{level}", "allOf": twice}
    return {"$defs": definitions, "$ref": reference.format(levels - 1)}


@pytest.mark.parametrize("reference", ["#/$defs/a{}", "#a{}"], ids=["pointer", "anchor"])
def test_references_that_multiply_are_refused(reference: str) -> None:
    assert evaluate({"schema": doubling(8, reference)}, {}) is True
    with pytest.raises(ExpressionTooComplex):
        evaluate({"schema": doubling(40, reference)}, {})


def test_a_reference_to_itself_ends() -> None:
    assert evaluate({"schema": {"allOf": [{"$ref": "#"}]}}, {}) is True


def test_data_that_is_not_json_is_a_failure() -> None:
    assert isinstance(evaluate({"schema": {"type": "object"}}, {1: 2}), Failure)


def test_no_output_is_a_failure() -> None:
    condition = ExpressionEvaluator().condition({"type": "schema_validation", "schema": {}})
    assert isinstance(condition.evaluate({"input": {}}), Failure)
