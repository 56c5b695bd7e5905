"""What is refused at registration: with line, column and what was expected."""

from __future__ import annotations

import pytest

from penstock.expr.errors import CompileError, ExpressionTooComplex
from penstock.expr.evaluator import ExpressionEvaluator

SYNTAX = [
    ("", 1, 1),
    ("output.score >= ", 1, 17),
    ("output.score >=\n  && true", 2, 3),
    ("output.x == 1 extra", 1, 15),
    ("'abc", 1, 1),
    ("output.a = 1", 1, 10),
    ("output.", 1, 8),
    ("output.[1]", 1, 8),
    ("(output.a", 1, 10),
    ("output.l[1", 1, 11),
    ("[1, 2", 1, 6),
    ("{'a' 1}", 1, 6),
    ("output.t ? 1", 1, 13),
    ("output.a and true", 1, 10),
    ("if", 1, 1),
    ("output.a == 'x\ny'", 1, 13),
    (r"output.a == '\q'", 1, 13),
    ("9223372036854775808 == 1", 1, 1),
    ("`a-b`", 1, 1),
    ("output.?a", 1, 8),
    ("Message{a: 1}", 1, 8),
]
UNKNOWN = [
    ("outptu.score > 1", 1, 1, "output"),
    ("output.a > 1 ||\n stat.x == 1", 2, 2, "state"),
    ("current.output.a > 1", 1, 1, "one of"),
    ("sise(output.l) > 1", 1, 1, "size"),
    ("output.s.startswith('a')", 1, 9, "startsWith"),
    ("output.l.all(x, y > 1)", 1, 17, "one of"),
    ("output.l.all(x, x > 1) && x > 1", 1, 27, "one of"),
]
MISUSED = [
    "has(output)",
    "has(output['a'])",
    "size()",
    "size(1, 2)",
    "output.s.contains()",
    "output.l.all(x)",
    "output.l.all(x.y, true)",
    "output.l.all(output, true)",
    "output.l.all(int, true)",
    "output.l.all(i, v, true)",
]
TOO_COMPLEX = [
    pytest.param("true || " * 600 + "true", id="source over 4 KB"),
    pytest.param("(" * 40 + "1" + ")" * 40, id="deep parentheses"),
    pytest.param("(" * 2000 + "1", id="very deep parentheses"),
    pytest.param("!" * 200 + "true", id="many negations"),
    pytest.param(" + ".join(["output.i"] * 40), id="a long sum"),
    pytest.param("[1].all(a, [1].all(b, [1].all(c, true)))", id="three loops inside each other"),
    pytest.param("['a']" + ".map(x, x + x)" * 8, id="a string that doubles and doubles"),
]


@pytest.mark.parametrize(("source", "line", "column"), SYNTAX)
def test_a_syntax_error_names_its_place(source: str, line: int, column: int, evaluator: ExpressionEvaluator) -> None:
    with pytest.raises(CompileError) as refused:
        evaluator.condition(source)
    assert (refused.value.attributes["line"], refused.value.attributes["column"]) == (line, column)
    assert refused.value.attributes["expected"]


@pytest.mark.parametrize(("source", "line", "column", "suggestion"), UNKNOWN)
def test_an_unknown_name_is_refused_with_what_was_meant(
    source: str, line: int, column: int, suggestion: str, evaluator: ExpressionEvaluator
) -> None:
    with pytest.raises(CompileError) as refused:
        evaluator.condition(source)
    assert (refused.value.attributes["line"], refused.value.attributes["column"]) == (line, column)
    assert suggestion in str(refused.value.attributes["expected"])


@pytest.mark.parametrize("source", MISUSED)
def test_a_misused_function_is_refused(source: str, evaluator: ExpressionEvaluator) -> None:
    with pytest.raises(CompileError):
        evaluator.condition(source)


@pytest.mark.parametrize("source", TOO_COMPLEX)
def test_what_could_run_away_is_refused(source: str, evaluator: ExpressionEvaluator) -> None:
    with pytest.raises(ExpressionTooComplex):
        evaluator.condition(source)


def test_the_fast_engine_refuses_types_that_cannot_go_together() -> None:
    with pytest.raises(CompileError) as refused:
        ExpressionEvaluator("cel-expr-python").condition("output.a > 1 &&\n size(output.l) == 'x'")
    assert refused.value.attributes["line"] == 2


def test_long_chains_of_and_and_or_are_fine(evaluator: ExpressionEvaluator) -> None:
    condition = evaluator.condition(" && ".join(["output.i > 1"] * 100))
    assert condition.evaluate({"output": {"i": 2}}) is True


def test_what_an_expression_reads_is_known(evaluator: ExpressionEvaluator) -> None:
    source = """output.a.b > 1 && ctx.score.output.v == nodes['fetch-data'].output[0].x
        && has(state._last_error) && input.xs.all(x, x.y == _branch.item) && input.m[output.key].z == 1"""
    assert evaluator.condition(source).reads == {
        ("output", "a", "b"),
        ("nodes", "score", "output", "v"),
        ("nodes", "fetch-data", "output"),
        ("state", "_last_error"),
        ("input", "xs"),
        ("_branch", "item"),
        ("output", "key"),
        ("input", "m"),
    }
