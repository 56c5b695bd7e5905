"""`penstock workflow` on files."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from penstock.cli.workflow import app

GOOD = "name: x\nnodes: {a: {type: http, dependents: b}, b: {type: pass}}\n"
BAD = "nodes:\n  - {id: a, dependents: [c], retrry: 1}\n  - {id: b, input: 'input. +'}\n"


@pytest.fixture
def runner() -> CliRunner:
    return CliRunner()


def write(folder: Path, text: str) -> str:
    path = folder / "definition.yaml"
    path.write_text(text)
    return str(path)


def test_a_good_definition_gives_its_hash_and_success(runner: CliRunner, tmp_path: Path) -> None:
    result = runner.invoke(app, ["check", write(tmp_path, GOOD)])
    assert result.exit_code == 0
    assert result.stdout.startswith("sha256:")


def test_all_problems_come_at_once_with_their_lines(runner: CliRunner, tmp_path: Path) -> None:
    file = write(tmp_path, BAD)
    result = runner.invoke(app, ["check", file])
    assert result.exit_code == 1
    assert result.stdout == ""
    for place in (f"{file}:2:", f"{file}:3:"):
        assert place in result.stderr
    assert "3 errors" in result.stderr


def test_problems_as_json_are_for_programs(runner: CliRunner, tmp_path: Path) -> None:
    result = runner.invoke(app, ["check", write(tmp_path, BAD), "-o", "json"])
    answer = msgspec.json.decode(result.stdout)
    assert result.exit_code == 1
    assert answer["ok"] is False
    errors = {problem["code"] for problem in answer["problems"] if problem["severity"] == "error"}
    assert errors == {"UNKNOWN_NODE", "UNKNOWN_FIELD", "EXPR_COMPILE"}


def test_a_definition_is_read_from_standard_input(runner: CliRunner) -> None:
    assert runner.invoke(app, ["check", "-"], input=GOOD).exit_code == 0


def test_a_file_that_is_not_there_is_a_wrong_argument(runner: CliRunner) -> None:
    assert runner.invoke(app, ["check", "/nowhere/x.yaml"]).exit_code == 2


@pytest.mark.parametrize(("picture", "first"), [("mermaid", "flowchart TD"), ("dot", 'digraph "x" {')])
def test_a_definition_is_drawn(runner: CliRunner, tmp_path: Path, picture: str, first: str) -> None:
    result = runner.invoke(app, ["graph", write(tmp_path, GOOD), "--format", picture])
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == first


def test_what_does_not_compile_is_not_drawn(runner: CliRunner, tmp_path: Path) -> None:
    assert runner.invoke(app, ["graph", write(tmp_path, BAD)]).exit_code == 1


def test_the_schema_is_printed(runner: CliRunner) -> None:
    assert msgspec.json.decode(runner.invoke(app, ["schema"]).stdout)["title"] == "Penstock workflow"
