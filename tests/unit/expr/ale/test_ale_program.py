"""Compiling, running and testing programs: arguments, conversion both ways, truthiness, and places of errors."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from penstock.expr import ale
from penstock.expr.ale import Limits, compile_ale, is_object
from penstock.expr.errors import CompileError, EvaluationError, ExpressionTooComplex, LimitExceeded


def run(source: str, **values: object) -> object:
    return compile_ale(source, list(values)).run(values)


def test_the_package_exports_what_it_should() -> None:
    assert set(ale.__all__) == {"DEFAULT", "AleProgram", "Limits", "compile_ale", "is_object"}


def test_arguments_are_bound_by_sorted_name() -> None:
    assert compile_ale("b", ["b", "a", "b"]).arguments == ("a", "b")


def test_a_missing_argument_is_null() -> None:
    assert compile_ale("[a b]", ["a", "b"]).run({"b": 2}) == [None, 2]


def test_values_that_are_no_arguments_are_not_seen() -> None:
    with pytest.raises(CompileError):
        compile_ale("a", ["b"])


@pytest.mark.parametrize("name", ["count", "name", "if", "case", "list"])
def test_an_argument_does_not_take_a_builtin_away(name: str) -> None:
    program = compile_ale(f"(if (eq (count (list 1)) 1) {name} 0)", [name])
    assert program.run({name: 7}) == 7


def test_let_and_lambda_hide_builtins() -> None:
    assert run("(let [count (lambda (x) 7)] (count 1))") == 7
    assert run("((lambda (if) (if 1)) inc)") == 2


@pytest.mark.parametrize(
    ("source", "values", "expected"),
    [
        ("(> x 10)", {"x": 15}, True),
        ("(> x 10)", {"x": 5}, False),
        ("(and (> x 10) (< y 20))", {"x": 15, "y": 15}, True),
        ("(> amount 100)", {"amount": 100.5}, True),
        ('(eq (:kind value) "email")', {"value": {"kind": "email"}}, True),
        ('(eq (:kind value) "email")', {"value": {"kind": "sms"}}, False),
        ("(> (length items) 0)", {"items": []}, False),
        ("(eq amount 100)", {"amount": 100.0}, True),
        ("null", {}, True),
        ("0", {}, True),
        ('""', {}, True),
        ("[]", {}, True),
        ("(lambda (x) x)", {}, True),
        ("false", {}, False),
        ("(:done output)", {"output": {"done": False}}, False),
        ("(:done output)", {"output": {}}, True),
    ],
)
def test_a_predicate_holds_unless_it_is_false(source: str, values: dict[str, object], expected: object) -> None:
    assert compile_ale(source, list(values)).test(values) is expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{:result (+ 5 10)}", {"result": 15}),
        ("(list 1 2 3)", [1, 2, 3]),
        ("(list)", None),
        (":word", "word"),
        ("'sym", "sym"),
        ("(/ 3 2)", 1.5),
        ("(:a . [1])", ["a", [1]]),
        ("(seq->list {:a 1})", [["a", 1]]),
        ("18446744073709551615", 2**64 - 1),
    ],
)
def test_a_result_becomes_json(source: str, expected: object) -> None:
    assert run(source) == expected


@pytest.mark.parametrize("source", ["(lambda (x) x)", "inc", "[inc]", "18446744073709551616", "-9223372036854775809"])
def test_what_json_cannot_say_is_an_error(source: str) -> None:
    with pytest.raises(EvaluationError):
        run(source)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), 1j, b"x"])
def test_input_that_is_no_json_is_an_error_when_it_comes_out(value: object) -> None:
    with pytest.raises(EvaluationError):
        run("[x]", x=value)


def test_json_goes_through_unchanged_and_unshared() -> None:
    document: dict[str, object] = {
        "b": True,
        "n": None,
        "i": 42,
        "f": 99.5,
        "s": "x",
        "a": ["item1", {"k": [1]}],
        "o": {},
    }
    before = json.dumps(document)
    result = run("document", document=document)
    assert json.dumps(result) == before
    assert is_object(result)
    assert result["a"] is not document["a"]


def test_programs_do_not_change_their_input() -> None:
    values = {"xs": [3, 1, 2], "o": {"a": 1}}
    before = json.dumps(values)
    run("[(conj xs 4) (sort xs) (reverse xs) (assoc o :b 2) (dissoc o :a) (merge o o)]", **values)
    assert json.dumps(values) == before


def test_only_objects_are_named_outputs() -> None:
    assert is_object(run("{:a 1}"))
    assert not is_object(run("[1]"))
    assert not is_object(run("null"))


@pytest.mark.parametrize(
    ("source", "line", "column"),
    [
        ("", 1, 1),
        (" ; nothing", 1, 1),
        ("(+ 1 lenght)", 1, 6),
        ("(foo 1)", 1, 2),
        ("(let [x 1]\n  (+ x y))", 2, 8),
        ("(first)", 1, 1),
        ("[(inc 1 2)]", 1, 2),
        ("(:a)", 1, 1),
        ("(:a {} 1 2)", 1, 1),
        ("(1 2)", 1, 2),
        ('("f" 2)', 1, 2),
        ("(if)", 1, 1),
        ("(if 1 2 3 4)", 1, 1),
        ("if", 1, 1),
        ("(let x 1)", 1, 6),
        ("(let [x] 1)", 1, 6),
        ("(let [1 x] 1)", 1, 6),
        ('(let "x" 1)', 1, 6),
        ("(let {:x 1} 1)", 1, 6),
        ("(let (x 1) 1)", 1, 7),
        ("(let [x 1])", 1, 1),
        ("(let () 1)", 1, 6),
        ("(let-rec [x 1] x)", 1, 13),
        ("(lambda 1 2)", 1, 9),
        ("(lambda (x x) 2)", 1, 9),
        ("(lambda (1) 2)", 1, 10),
        ("(lambda (x))", 1, 1),
        ("(cond (true 1))", 1, 7),
        ("(case 1 [1])", 1, 9),
        ("(quote)", 1, 1),
        ("'(a b . c)", 1, 2),
        ("'{x 1}", 1, 3),
        ("(1 2 . 3)", 1, 1),
        ("(for [x] x)", 1, 6),
        ("(->)", 1, 1),
        ("(-> 1 (foo))", 1, 8),
        ("(define x 1)", 1, 2),
    ],
)
def test_a_program_that_cannot_run_is_refused_with_its_place(source: str, line: int, column: int) -> None:
    with pytest.raises(CompileError) as caught:
        compile_ale(source, [])
    assert caught.value.attributes["language"] == "Ale"
    assert (caught.value.attributes["line"], caught.value.attributes["column"]) == (line, column)
    assert caught.value.attributes["expected"]
    assert str(caught.value)
    assert caught.value.hint


def test_a_typo_gets_a_suggestion() -> None:
    with pytest.raises(CompileError) as caught:
        compile_ale("(> amuont 1)", ["amount"])
    assert "amount" in str(caught.value.attributes["expected"])


@pytest.mark.parametrize(
    ("source", "line", "column"),
    [
        ("(+ 1 x)", 1, 1),
        ("(if true\n  (first 1))", 2, 3),
        ("(map (lambda (i)\n  (inc i)) x)", 2, 3),
        ("[1\n (:a 1)]", 2, 2),
        ("(inc\n (get {} :a))", 2, 2),
        ("{:a 1\n 2 (inc 1)}", 1, 1),
        ("(x 1)", 1, 1),
        ("((lambda (a) a))", 1, 1),
        ("((lambda (a . b) a))", 1, 1),
        ("((lambda () ((lambda (a) a))))", 1, 13),
        ("(let [f (lambda (a) a)]\n (f 1 2))", 2, 2),
        ("(case 5 [1 1])", 1, 1),
        ("(case 5\n [1 1] [((first 1)) 2])", 2, 10),
        ("(for [i 5] i)", 1, 1),
        ("\n(raise 1)", 2, 1),
    ],
)
def test_an_error_at_run_time_names_the_innermost_form(source: str, line: int, column: int) -> None:
    program = compile_ale(source, ["x"])
    with pytest.raises(EvaluationError) as caught:
        program.run({"x": "text"})
    assert not isinstance(caught.value, LimitExceeded)
    assert caught.value.attributes["language"] == "Ale"
    assert (caught.value.attributes["line"], caught.value.attributes["column"]) == (line, column)
    assert str(caught.value)
    with pytest.raises(EvaluationError):
        program.test({"x": "text"})


def test_raise_gives_its_message_as_the_reason() -> None:
    with pytest.raises(EvaluationError) as caught:
        run('(raise "no " x)', x="stock")
    assert caught.value.attributes["reason"] == "no stock"


def test_limits_can_be_set() -> None:
    loop = "((lambda-rec f (n) (if (= n 0) n (f (dec n)))) 1000)"
    assert run(loop) == 0
    with pytest.raises(LimitExceeded) as caught:
        compile_ale(loop, [], limits=Limits(steps=1_000)).run({})
    assert caught.value.attributes["limit"] == "steps"


def test_a_program_larger_than_its_steps_is_refused_at_once() -> None:
    with pytest.raises(ExpressionTooComplex):
        compile_ale("(+ 1 2 3 4 5 6 7 8 9)", [], limits=Limits(steps=5))


def test_a_ratio_too_large_for_a_float_is_an_error() -> None:
    with pytest.raises(EvaluationError):
        compile_ale(f"(/ {10**319} 7)", [], limits=Limits(bits=4_096)).run({})


def test_ratios_from_the_caller_are_not_needed_but_not_harmful() -> None:
    assert run("(* 2 x)", x=Fraction(1, 2)) == 1
