"""Programs that mean harm, or look as if: each is refused or stopped at its limit, and never by another error."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.expr.ale import DEFAULT, Limits, compile_ale
from penstock.expr.ale.library import LIBRARY
from penstock.expr.ale.special import FORMS
from penstock.expr.errors import CompileError, EvaluationError, ExprError, ExpressionTooComplex, LimitExceeded

MOST_SECONDS = 1.0  # of processor time: generous, a run takes some 20 ms


def nested(wrap: Callable[[str], str], depth: int, source: str = "1") -> str:
    for _ in range(depth):
        source = wrap(source)
    return source


def doubling(form: str, start: str, last: str = "a60") -> str:
    """Each of sixty bindings holds the one before it twice."""
    steps = " ".join(f"[a{i + 1} {form.format(x=f'a{i}')}]" for i in range(60))
    return f"(let* ([a0 {start}] {steps}) {last})"


def endless(body: str, start: str = "1") -> str:
    return f"((lambda-rec f (x) (begin {body} (f x))) {start})"


LONG = '(join "" (map (constantly "xxxxxxxxxx") (range 9000)))'
BIG_OBJECT = "(seq->object (mapcat (lambda (n) [(str n) n]) (range 900)))"

STOPPED = {
    "str doubling": (doubling("(str {x} {x})", '"xxxxxxxxxx"'), "text size"),
    "join doubling": (doubling("(join {x} [1 2 3])", '"xxxxxxxxxx"'), "text size"),
    "concat doubling": (doubling("(concat {x} {x})", "[1]"), "sequence size"),
    "vector doubling, returned": (doubling("[{x} {x}]", "[1]"), "steps"),
    "object doubling, returned": (doubling("{{:a {x} :b {x}}}", "[1]"), "steps"),
    "vector doubling, printed": (doubling("[{x} {x}]", "[1]", "(str a60)"), "steps"),
    "vector doubling, compared": (
        f"(eq {doubling('[{x} {x}]', '[1]')} {doubling('[{x} {x}]', '[1]')})",
        "steps",
    ),
    "number squaring": (doubling("(* {x} {x})", "3"), "number size"),
    "number squaring for ever": ("((lambda-rec f (n) (f (* n n))) 3)", "number size"),
    "ratio growth": ("((lambda-rec f (n k) (f (+ n (/ 1 k)) (inc k))) 1 2)", "steps"),
    "ratio denominators": ("((lambda-rec f (n) (f (/ n 7))) 1)", "number size"),
    "a range": ("(range 1000000000)", "sequence size"),
    "a range as far as numbers go": (f"(range {10**300})", "sequence size"),
    "ranges in ranges": ("(for ([a (range 50000)] [b (range 50000)]) 1)", "steps"),
    "an endless loop": ("((lambda-rec f () (f)))", "steps"),
    "self application": ("((lambda (f) (f f)) (lambda (f) (f f)))", "steps"),
    "the Y combinator": (
        (
            "(((lambda (h) ((lambda (x) (h (lambda (v) ((x x) v)))) (lambda (x) (h (lambda (v) ((x x) v))))))"
            " (lambda (self) (lambda (n) (self (inc n))))) 1)"
        ),
        "steps",
    ),
    "mutual tail calls": ("(let-rec ([a (lambda () (b))] [b (lambda () (a))]) (a))", "steps"),
    "deep recursion": ("((lambda-rec f (n) (+ 1 (f n))) 1)", "recursion depth"),
    "deep self application": ("((lambda (f) (inc (f f))) (lambda (f) (inc (f f))))", "recursion depth"),
    "deep mutual recursion": (
        "(let-rec ([a (lambda () (inc (b)))] [b (lambda () (inc (a)))]) (a))",
        "recursion depth",
    ),
    "recursion through map": ("((lambda-rec f (x) (map f [x])) 1)", "recursion depth"),
    "recursion through sort-by": ("((lambda-rec f (x) (sort-by f [x])) 1)", "recursion depth"),
    "recursion through apply": ("((lambda-rec f (x) (inc (apply f [x]))) 1)", "recursion depth"),
    "recursion through for": ("((lambda-rec f (x) (for [y [x]] (f y))) 1)", "recursion depth"),
    "a chain of partials": ("((fold-left (lambda (p _) (partial p)) inc (range 2000)) 1)", "recursion depth"),
    "a tower of comps": ("((fold-left (lambda (p _) (comp p p)) inc (range 40)) 1)", "steps"),
    "a tower of juxts": ("((fold-left (lambda (p _) (juxt p p)) inc (range 40)) 1)", "steps"),
    "a deep result": ("(fold-left (lambda (v _) [v]) [] (range 4000))", "nesting"),
    "a deep object": ("(fold-left (lambda (v _) {:a v}) {} (range 4000))", "nesting"),
    "a deep pair": ("(fold-left (lambda (v _) (1 . v)) 1 (range 4000))", "nesting"),
    "a deep value printed": ("(str (fold-left (lambda (v _) [v]) [] (range 4000)))", "nesting"),
    "replace": (f'(let [s {LONG}] (replace s "x" s))', "text size"),
    "join": (f"(let [s {LONG}] (join s (range 5000)))", "text size"),
    "upper": (endless("(upper x)", LONG), "steps"),
    "long strings compared": (f"(let [s {LONG}] {endless('(eq s x)', f'(str {LONG})')})", "steps"),
    "long strings searched": (endless('(includes? x "y")', LONG), "steps"),
    "long strings split": (endless('(split x "xxxxx")', LONG), "steps"),
    "long strings sorted": (endless("(sort [x x x])", LONG), "steps"),
    "a raised novel": ("(raise (range 20000))", "steps"),
    "windows": ("(partition 5000 1 (range 20000))", "steps"),
    "distinct vectors": ("(distinct (map (lambda (n) [n]) (range 4000)))", "steps"),
    "spread arguments": (endless("(apply + (range 9000))"), "steps"),
    "a growing vector": ("((lambda-rec f (v) (f (conj v 1))) [])", "steps"),
    "a growing list": ("((lambda-rec f (v) (f (cons 1 v))) null)", "steps"),
    "a growing object": ("((lambda-rec f (o n) (f (assoc o (str n) n) (inc n))) {} 0)", "steps"),
    "merges": (endless("(merge x x)", BIG_OBJECT), "steps"),
    "pairs of an object": (endless("(first x)", BIG_OBJECT), "steps"),
    "keys": (endless("(keys x)", BIG_OBJECT), "steps"),
    "closures that keep their frames": ("((lambda-rec f (g) (f (lambda () g))) 1)", "steps"),
    "many let bindings": (f"((lambda-rec f () (let ({' '.join(f'[a{i} 1]' for i in range(2000))}) (f))))", "steps"),
    "numbers printed": (endless("(str x)", "9" * 300), "steps"),
    "numbers parsed": (endless("(number x)", f'"{"9" * 300}"'), "steps"),
    "numbers rounded": (endless("(round x 5)", "1e300"), "steps"),
    "mapcat doubling": ("(fold-left (lambda (v _) (mapcat (lambda (x) [x x]) v)) [1] (range 60))", "steps"),
}


@pytest.mark.parametrize(("source", "limit"), STOPPED.values(), ids=list(STOPPED))
def test_a_run_is_stopped_at_its_limit(source: str, limit: str) -> None:
    program = compile_ale(source, [])
    begun = time.process_time()
    with pytest.raises(LimitExceeded) as caught:
        program.run({})
    assert time.process_time() - begun < MOST_SECONDS
    assert caught.value.attributes["limit"] == limit
    assert caught.value.attributes["line"] == 1
    assert str(caught.value)


REFUSED = {
    "10,000 open lists": "(" * 10_000,
    "10,000 lists": "(" * 10_000 + ")" * 10_000,
    "10,000 objects": "{:a " * 10_000 + "1" + "}" * 10_000,
    "10,000 quotes": "'" * 10_000 + "x",
    "10,000 lambdas": nested(lambda x: f"(lambda () {x})", 10_000),
    "a megabyte of string": '"' + "a" * 1_000_000 + '"',
    "a megabyte of blanks": " " * 1_000_000,
    "a megabyte of comment": "#|" * 500_000,
    "a megabyte of code": "(inc 1) " * 125_000,
}


@pytest.mark.parametrize("source", REFUSED.values(), ids=list(REFUSED))
def test_a_source_that_is_too_much_is_refused(source: str) -> None:
    begun = time.process_time()
    with pytest.raises(ExpressionTooComplex) as caught:
        compile_ale(source, [])
    assert time.process_time() - begun < MOST_SECONDS
    assert caught.value.attributes["limit"]
    assert str(caught.value)


@pytest.mark.parametrize(
    "source",
    [
        nested(lambda x: f"(+ 1 {x})", 198),
        nested(lambda x: f"(let [x 1] {x})", 198),
        nested(lambda x: f"(let [x {x}] x)", 98),
        nested(lambda x: f"((lambda (x) {x}) 1)", 98),
        nested(lambda x: f"(cond [false 0] [true {x}])", 98),
        nested(lambda x: f"(if true {x} 0)", 198),
        nested(lambda x: f"(-> 1 (+ {x}))", 98),
        nested(lambda x: f"(for [x [1]] {x})", 30),
        "[" * 200 + "]" * 200,
        "'" + "(" * 199 + ")" * 199,
        "(+ " + "1 " * 20_000 + ")",
        "(-> 1 " + "inc " * 9_000 + ")",
        "(and " + "true " * 9_000 + ")",
        "(cond " + "[false 1] " * 5_000 + ")",
    ],
    ids=lambda source: source[:14],
)
def test_what_is_within_the_limits_runs(source: str) -> None:
    compile_ale(source, []).run({})


@pytest.mark.parametrize(
    "source",
    [
        "(. output __class__)",
        "(get output __class__)",
        "(__import__ :os)",
        '(eval "1")',
        '(read "1")',
        '(open "/etc/passwd")',
        "(import os)",
        "(current-time)",
        "(go 1)",
        "(print 1)",
        "(macro 1)",
        "(asm 1)",
    ],
)
def test_there_is_no_way_out(source: str) -> None:
    with pytest.raises(CompileError):
        compile_ale(source, ["output"])


@pytest.mark.parametrize("key", ["__class__", "__dict__", "keys", "get", "__init__"])
def test_attributes_of_python_are_not_members(key: str) -> None:
    program = compile_ale(f"[(:{key} x) (get x :{key} null) (contains? x :{key})]", ["x"])
    assert program.run({"x": {"a": 1}}) == [None, None, False]


@contextmanager
def room_for(frames: int) -> Iterator[None]:
    """Leave so many Python frames above the caller."""
    limit = sys.getrecursionlimit()
    depth = sum(1 for _ in traceback.walk_stack(None))
    sys.setrecursionlimit(depth + frames)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def test_recursion_is_stopped_by_count_before_python_runs_out_of_stack() -> None:
    """So that the same program stops at the same call, however deep its caller is."""
    recursive = [source for source, limit in STOPPED.values() if limit == "recursion depth"]
    programs = [compile_ale(f"\n{source}", []) for source in recursive]
    for program in programs:
        with room_for(DEFAULT.frames + 50), pytest.raises(LimitExceeded) as caught:
            program.run({})
        assert caught.value.attributes["line"] == 2


def test_a_caller_with_little_stack_left_gets_our_errors() -> None:
    deep = nested(lambda x: f"(+ 1 {x})", 198)
    with room_for(100), pytest.raises(ExpressionTooComplex):
        compile_ale(deep, [])
    program = compile_ale(deep, [])
    with room_for(100), pytest.raises(LimitExceeded):
        program.run({})
    with room_for(100), pytest.raises(LimitExceeded):
        program.test({})


_SMALL = Limits(steps=3_000, items=500, text=2_000)
_ATOMS = st.sampled_from(
    [
        *LIBRARY,
        *FORMS,
        "x",
        "y",
        "f",
        "0",
        "1",
        "-2",
        "1.5",
        "1/3",
        '"s"',
        ":a",
        "true",
        "false",
        "null",
        ".",
        "'",
        "[]",
        "{}",
    ]
)
_SOUP = st.lists(st.sampled_from([*"()[]{}'", "[x", "(lambda (f)", "(let [f"]) | _ATOMS, max_size=40).map(" ".join)
_FORMS = st.recursive(
    _ATOMS,
    lambda inner: (
        st.lists(inner, max_size=5).map(lambda items: f"({' '.join(items)})")
        | st.lists(inner, max_size=4).map(lambda items: f"[{' '.join(items)}]")
        | st.lists(st.tuples(st.sampled_from([":a", '"b"', "x"]), inner), max_size=2).map(
            lambda members: "{" + " ".join(f"{key} {value}" for key, value in members) + "}"
        )
        | inner.map(lambda body: f"(lambda (x) {body})")
        | st.tuples(inner, inner).map(lambda two: f"(let [f {two[0]}] {two[1]})")
        | st.tuples(inner, inner).map(lambda two: f"(for [x {two[0]}] {two[1]})")
        | st.tuples(st.sampled_from(sorted(LIBRARY)), inner, inner).map(lambda three: f"({' '.join(three)})")
    ),
    max_leaves=25,
)


@settings(max_examples=400, deadline=None)
@given(_SOUP | _FORMS)
def test_any_program_is_refused_or_ends_with_a_value_or_our_error(source: str) -> None:
    values: dict[str, object] = {"x": [1, {"a": "b"}], "y": {"a": None, "n": 2.0}}
    with suppress(CompileError):
        program = compile_ale(source, ["x", "y"], limits=_SMALL)
        with suppress(EvaluationError):
            program.run(values)
    assert values == {"x": [1, {"a": "b"}], "y": {"a": None, "n": 2.0}}


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_refused_or_runs(source: str) -> None:
    with suppress(ExprError):
        compile_ale(source, ["x"]).run({"x": 1})
