"""Python conditions: checked at registration without running, evaluated with verdicts from elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.model.evaluate import Failure, Json
from penstock.expr.condition.base import CompiledCondition
from penstock.expr.errors import CompileError, ConditionInvalid, ExpressionTooComplex
from penstock.expr.evaluator import ExpressionEvaluator

CODE = "def evaluate(output, context):\n    return True\n"


def compiled(**source: Json) -> CompiledCondition:
    return ExpressionEvaluator(load_blob={"cas://sha256:code": CODE.encode()}.__getitem__).condition(
        {"type": "python_sandbox", **source}
    )


def test_a_python_condition_names_its_program_and_limits() -> None:
    condition = compiled(code_ref="cas://sha256:code", timeout_ms=250, max_memory_mb=20)
    (program,) = condition.programs
    assert (program.code, program.timeout_ms, program.max_memory_mb) == (CODE, 250, 20)
    assert condition.reads == {("output",), ("nodes",)}


def test_the_limits_have_defaults() -> None:
    (program,) = compiled(code=CODE).programs
    assert (program.timeout_ms, program.max_memory_mb) == (1000, 50)


def test_it_is_never_run_inside_a_decision() -> None:
    result = compiled(code=CODE).evaluate({"output": {}, "nodes": {}})
    assert isinstance(result, Failure)
    assert result.code == "EXPR_SANDBOXED"


@pytest.mark.parametrize("verdict", [True, False])
def test_the_verdict_from_the_sandbox_is_the_result(verdict: bool) -> None:
    condition = compiled(code=CODE)
    assert condition.evaluate({"output": {}}, {condition.programs[0].id: verdict}) is verdict


def test_a_failure_in_the_sandbox_is_a_failure_here() -> None:
    condition = compiled(code=CODE)
    result = condition.evaluate({"output": {}}, {condition.programs[0].id: Failure("EXPR_LIMIT", "too slow")})
    assert isinstance(result, Failure)
    assert result.details["cause"] == "EXPR_LIMIT"


def test_a_composite_waits_for_the_programs_inside_it() -> None:
    inner = {"type": "python_sandbox", "code": CODE}
    source = {"type": "composite", "operator": "AND", "conditions": ["output.t", inner]}
    condition = ExpressionEvaluator().condition(source)
    (program,) = condition.programs
    assert condition.evaluate({"output": {"t": True}}, {program.id: True}) is True
    assert condition.evaluate({"output": {"t": False}}, {program.id: True}) is False
    assert isinstance(condition.evaluate({"output": {"t": True}}), Failure)


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("def evaluate(output, context:\n    return True", 1),
        ("x = 1\ndef evaluate(output, context)\n    return 1", 2),
        ("def judge(output, context):\n    return True", 1),
        ("x = 1\n\ndef evaluate(output):\n    return True", 3),
        ("def evaluate(a, b, c):\n    return True", 1),
        ("class evaluate:\n    pass", 1),
        ("", 1),
    ],
)
def test_code_without_the_function_is_refused(code: str, line: int) -> None:
    with pytest.raises(CompileError) as refused:
        compiled(code=code)
    assert refused.value.attributes["line"] == line


@pytest.mark.parametrize(
    "code",
    [
        "def evaluate(output, context=None):\n    pass",
        "def evaluate(*both):\n    pass",
        "def evaluate(a, b, c=1):\n    pass",
    ],
)
def test_any_function_that_takes_two_arguments_will_do(code: str) -> None:
    assert compiled(code=code).programs


@pytest.mark.parametrize("code", ["x = 1\n" * 20_000, "(" * 5000], ids=["long", "deep"])
def test_code_that_is_too_large_is_refused(code: str) -> None:
    with pytest.raises(CompileError):
        compiled(code=code)


def test_the_parser_itself_is_protected() -> None:
    with pytest.raises((ExpressionTooComplex, CompileError)):
        compiled(code="def evaluate(output, context):\n    return " + "-" * 30_000 + "1")


@pytest.mark.parametrize(
    "source",
    [
        {},
        {"code": 5},
        {"code": CODE, "timeout_ms": 0},
        {"code": CODE, "timeout_ms": 3_600_000},
        {"code": CODE, "timeout_ms": "1s"},
        {"code": CODE, "timeout_ms": True},
        {"code": CODE, "max_memory_mb": 100_000},
        {"code_ref": "cas://sha256:none"},
    ],
)
def test_wrong_fields_are_refused(source: dict[str, Any]) -> None:
    with pytest.raises(ConditionInvalid):
        compiled(**source)
