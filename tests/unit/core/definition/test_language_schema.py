"""The JSON Schema that editors use says what the reader does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest

from penstock.core.definition import check
from penstock.core.definition.picture import mermaid
from penstock.core.definition.schema import json_schema
from penstock.core.definition.spelling import all_parts
from penstock.expr.evaluator import ExpressionEvaluator
from penstock.notation import read_text

ROOT = Path(__file__).parents[4]
REFERENCE = ROOT / "docs" / "reference"
PRINTED = sorted((ROOT / "tests" / "fixtures" / "definitions").glob("*.jsonc"))


def test_the_schema_in_the_docs_is_the_one_of_the_model() -> None:
    """`penstock workflow schema > docs/reference/workflow.schema.json` makes it anew."""
    assert msgspec.json.decode((REFERENCE / "workflow.schema.json").read_bytes()) == json_schema()


@pytest.mark.parametrize("path", [path for path in PRINTED if path.stem != "patch"], ids=lambda path: str(path.stem))
def test_the_schema_accepts_what_the_seeds_print(path: Path) -> None:
    node: dict[str, Any] = read_text(path.read_text()).data
    definition = {"nodes": [{"id": "it", **node} if "node_id" not in node else node]}
    assert jsonschema_rs.validator_for(json_schema()).is_valid(definition)


@pytest.mark.parametrize(
    ("definition", "valid"),
    [
        pytest.param({"nodes": {"a": None, "b": {"retry": 3}}}, True, id="nodes by id"),
        pytest.param({"nodes": [{"id": "a", "timeout_ms": 5, "x-mine": 1}]}, True, id="units and private keys"),
        pytest.param({"nodes": [{"id": "a"}], "edges": [{"from_node_id": "a", "to": "a"}]}, True, id="other spellings"),
        pytest.param({"nodes": [{"id": "a", "retrry": 3}]}, False, id="a misspelled field"),
        pytest.param({"nodes": [{"type": "task"}]}, False, id="no id"),
        pytest.param({"nodes": [{"id": "a", "timeout": "soon"}]}, False, id="no duration"),
        pytest.param({}, False, id="no nodes"),
    ],
)
def test_the_schema_knows_what_the_reader_knows(definition: Any, valid: bool) -> None:  # noqa: ANN401 - any JSON
    assert jsonschema_rs.validator_for(json_schema()).is_valid(definition) is valid


def test_the_example_of_the_reference_is_in_order_and_its_picture_is_its_own(evaluator: ExpressionEvaluator) -> None:
    example, picture = re.findall(r"```(?:yaml|mermaid)\n(.*?)```", (REFERENCE / "workflow.md").read_text(), re.DOTALL)
    checked = check(read_text(example).data, evaluator=evaluator)
    assert checked.problems == ()
    assert checked.graph is not None
    assert mermaid(checked.graph) == picture


def test_the_reference_names_every_field() -> None:
    page = (REFERENCE / "workflow.md").read_text()
    fields = {field.encode_name for part in all_parts() for field in msgspec.structs.fields(part)}
    assert sorted(name for name in fields if f"`{name}" not in page) == []
