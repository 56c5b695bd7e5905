"""`penstock expr eval`: every type and language, for people and for programs."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner, Result

from penstock.cli.expr import app
from penstock.expr.errors import CompileError
from penstock.expr.evaluator import ExpressionEvaluator


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["eval", *arguments])


def test_programs_get_the_result_and_the_engine() -> None:
    result = run("output.a > 1", "--output", '{"a": 2}', "-o", "json")
    assert msgspec.json.decode(result.stdout) == {"result": True, "engine": ExpressionEvaluator().engine}


def test_the_engine_can_be_chosen() -> None:
    result = run("output.a > 1", "--output", '{"a": 2}', "-o", "json", "--engine", "cel-python")
    assert msgspec.json.decode(result.stdout)["engine"].startswith("cel-python ")


def test_programs_get_a_failure_as_data_and_an_exit_code() -> None:
    result = run("output.a > 1", "--output", "{}", "-o", "json")
    assert result.exit_code == 1
    assert msgspec.json.decode(result.stdout)["failure"]["code"] == "EXPR_EVALUATION"


def test_people_read_failures_on_stderr() -> None:
    result = run("output.a > 1", "--output", "{}")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("EXPR_EVALUATION: ")


def test_what_does_not_compile_raises_for_the_command_to_print() -> None:
    assert isinstance(run("output.").exception, CompileError)


def test_data_that_is_not_json_is_a_usage_error() -> None:
    assert run("true", "--output", "{").exit_code == 2


def test_a_source_can_be_a_file(tmp_path: Path) -> None:
    file = tmp_path / "condition.json"
    file.write_text('{"type": "jsonpath", "query": "$.a", "operator": ">", "value": 1}')
    assert run(f"@{file}", "--output", '{"a": 2}').stdout == "true\n"


def test_a_source_file_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    assert run(f"@{tmp_path / 'nowhere'}").exit_code == 2


def test_a_map_of_cel_is_not_taken_for_a_condition_object() -> None:
    assert run("{'a': 1} == output", "--output", '{"a": 1}').stdout == "true\n"


@pytest.mark.parametrize(
    ("language", "source", "printed"),
    [
        ("lua", "return {sum = a + b}", '{"sum":3}'),
        ("ale", "(+ a b)", '{"result":3}'),
        ("python", "return {'sum': a + b}", '{"sum":3}'),
    ],
)
def test_a_script_gets_its_arguments_and_gives_its_outputs(language: str, source: str, printed: str) -> None:
    assert run("--language", language, source, "--input", '{"a": 1, "b": 2}').stdout == f"{printed}\n"
