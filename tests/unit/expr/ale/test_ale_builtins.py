"""Builtins at their edges; `docs/reference/ale.md` has, and runs, an ordinary example of each."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from itertools import product

import pytest

from penstock.expr.ale import compile_ale
from penstock.expr.ale.library import LIBRARY
from penstock.expr.ale.values import Keyword, Pair, Symbol, Value
from penstock.expr.errors import EvaluationError, LimitExceeded


def run(source: str) -> object:
    return compile_ale(source, []).run({})


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("[(+) (*) (+ 5) (* 5)]", [0, 1, 5, 5]),
        ("(/ 10 2 5)", 1),
        ("(/ 4)", 0.25),
        ("(- 1/2 1/2)", 0),
        ("(mod 100 8 7)", 4),
        ("(mod 5.5 2)", 1.5),
        ("(+ 0.5 1/2)", 1.0),
        ("[(=  1) (< 1) (eq 1)]", [True, True, True]),
        ("(= 1 1 2)", False),
        ("(!= 1 1 2)", True),
        ("(< 1 3 2)", False),
        ("(< 1/3 0.5 1)", True),
        ('(>= "b" "a")', True),
        ("(eq true true false)", False),
        ("(!eq 1 1 2)", True),
        ("(eq null ())", True),
        ("(eq [1] '(1))", False),
        ("(eq [1 2] [1])", False),
        ("(eq {:a 1} {:b 1})", False),
        ("(eq {:a 1 :b [2]} {:b [2] :a 1})", True),
        ("(eq (:a . 1) (:a . 1.0))", True),
        ("(eq [true] [1])", False),
        ('(eq :a "a")', False),
        ("(eq 'a 'a)", True),
        ("(eq inc inc)", True),
        ("(eq (lambda () 1) (lambda () 1))", False),
        ("[(round -2.5) (round 2.4) (round 7) (round 5/2)]", [-3, 2, 7, 3]),
        ("[(round 1.005 2) (round -0.5)]", [1.01, -1]),
        ("[(floor 3/2) (ceil 3/2) (int 3/2) (float 2)]", [1, 2, 1, 2.0]),
        ("[(abs -1/2) (min 1 0.5) (max 1/3 0.25)]", [0.5, 0.5, 1 / 3]),
        ('[(number " 7 ") (number 7) (number "1/2") (number null 0) (number "" 1)]', [7, 7, 0.5, 0, 1]),
        ("[(even? 4.0) (odd? -3) (even? 3)]", [True, True, False]),
        ("[(null? () ()) (null? () 1) (!null? 1 2) (!null? 1 ())]", [True, False, True, False]),
        ('[(list? ()) (vector? ()) (seq? ()) (empty? {}) (empty? "")]', [True, False, True, True, True]),
        ("[(procedure? :a) (procedure? {}) (procedure? [])]", [True, True, False]),
        ("[(str) (str null) (str true false) (str 1.0 1/3) (str :a) (str 'a)]", ["", "", "#t#f", "1.01/3", ":a", "a"]),
        ('(str {:a [1 "x\\n"] :b (:c . ())})', '{:a [1 "x\\n"] :b (:c . ())}'),
        ("[(str inc) (str (lambda () 1)) (str '(1 2))]", ["inc", "lambda", "(1 2)"]),
        ('[(str! "a\\"b" null) (str!)]', ['"a\\"b" ()', ""]),
        ('[(join "-" null) (join "-" "abc") (join "" [1 :a null "b"])]', ["", "a-b-c", "1:ab"]),
        ('[(split "" ",") (split "a,,b" ",")]', [[""], ["a", "", "b"]]),
        ('[(substring "abc" 3) (substring "abc" 1 1) (replace "aaa" "aa" "b")]', ["", "", "ba"]),
        ('[(keyword :a) (keyword "a b") (name \'x)]', ["a", "a b", "x"]),
        ('[(first null) (first {}) (first "") (rest null) (rest []) (rest "")]', [None, None, None, None, [], ""]),
        ("[(first {:a 1}) (rest {:a 1 :b 2})]", [["a", 1], [["b", 2]]]),
        ("[(rest '(1)) (rest '(1 2))]", [None, [2]]),
        ('[(length null) (length {:a 1}) (length "né")]', [0, 1, 2]),
        ('[(nth \'(1 2) 0) (nth "ab" 1) (nth [1] -1 :no) (nth [1 2] 1.0)]', [1, "b", "no", 2]),
        ('[(cons 1 \'(2)) (cons 1 [2]) (cons "a" "b") (cons 1 {:a 1})]', [[1, 2], [1, 2], ["a", "b"], [1, ["a", 1]]]),
        ("[(list? (cons 1 '(2))) (vector? (cons 1 [2])) (list? (conj null 1))]", [True, True, True]),
        (
            "[(conj [1] 2 3) (conj '(1) 2 3) (conj null) (conj {:a 1} [:b 2] (:a . 3))]",
            [[1, 2, 3], [3, 2, 1], None, {"a": 3, "b": 2}],
        ),
        ("[(range 0) (range -3) (range 3 1) (range 1 8 3) (range 1 8 -1)]", [[], [0, -1, -2], [3, 2], [1, 4, 7], []]),
        ('[(take 9 [1]) (take -1 [1]) (drop 9 [1]) (drop -1 \'(1)) (take 2 "abc")]', [[1], [], [], [1], ["a", "b"]]),
        ("[(partition 2 [1 2 3]) (partition 1 2 [1 2 3]) (partition 2 null)]", [[[1, 2], [3]], [[1], [3]], []]),
        ("[(reverse null) (reverse '(1 2)) (list? (reverse '(1 2))) (reverse {})]", [None, [2, 1], True, []]),
        ("[(zip [1 2]) (zip [] [1])]", [[[1], [2]], []]),
        (
            '[(index-of "abc" "c") (index-of [1 [2]] [2]) (includes? {:a 1} (:a . 1)) (includes? null 1)]',
            [2, 1, True, False],
        ),
        (
            '(distinct [true 1 1.0 :a "a" \'a :a null () [1] [1.0] (1 . 2) (1 . 2)])',
            [True, 1, "a", "a", "a", None, [1], [1, 2]],
        ),
        ("[(map + []) (map inc null) (map :a [{:a 1} {}]) (map {:a 1} [:a :b])]", [[], [], [1, None], [1, None]]),
        ("(map (lambda (p) [(first p) (rest p)]) {:a 1})", [["a", 1]]),
        ("[(any odd? []) (all odd? []) (any identity [null])]", [False, True, True]),
        ("[(fold-left + 1 []) (reduce + [5]) (foldr + []) (fold-right list [1 2 3])]", [1, 5, 0, [1, [2, 3]]]),
        (
            '[(sort []) (sort "cab") (sort [2 1.5 1/2]) (sort \'("b" "a"))]',
            [[], ["a", "b", "c"], [0.5, 1.5, 2], ["a", "b"]],
        ),
        ("(sort-by first [[2 :a] [1 :b] [2 :c]])", [[1, "b"], [2, "a"], [2, "c"]]),
        ("[(object) (seq->object null) (merge) (assoc {}) (dissoc {:a 1})]", [{}, {}, {}, {}, {"a": 1}]),
        ('[(get {:a null} :a 1) (contains? {:a null} "a") (contains? [1] :a) ({:a 1} :b 2)]', [None, True, False, 2]),
        ("[(assoc {} [:a 1] '(:b 2)) (assoc {} :a 1 :b 2)]", [{"a": 1, "b": 2}, {"a": 1, "b": 2}]),
        ("[(apply + []) (apply + 1 2 [3]) (apply :a [{:a 1}]) ((partial +)) ((partial + 1) 2 3)]", [0, 6, 1, 0, 6]),
        ("[((comp inc) 1) ((comp + inc) 1 2) ((juxt + -) 5 3) ((constantly 1) 2 3) (no-op)]", [2, 4, [8, 2], 1, None]),
        ("(let [fs (for [i [1 2]] (lambda () i))] (map (lambda (f) (f)) fs))", [1, 2]),
        (
            (
                "(let-rec ([even (lambda (n) (if (= n 0) true (odd (dec n))))]"
                "          [odd (lambda (n) (if (= n 0) false (even (dec n))))]) (even 501))"
            ),
            False,
        ),
        ("(let ([x 1]) (let ([x 2] [y x]) [x y]))", [2, 1]),
        ("(let* ([x 1] [f (lambda () x)] [x 2]) [(f) x])", [1, 2]),
        ("(((lambda (a) (lambda (b) ((lambda (c) [a b c]) 3))) 1) 2)", [1, 2, 3]),
        ("((lambda args args))", None),
        ("[(cond) (and) (or) (or false) (cond [false 1])]", [None, True, False, False, None]),
        ("[(if null 1 2) (if 0 1 2) (if false 1) (unless false 1) (unless true 1)]", [1, 1, None, 1, None]),
        ("[(-> 5) (-> [1 2] first (+ 1) [inc]) (->> 3 (- 10))]", "error"),
        ("[(-> 5) (->> 3 (- 10)) (-> 1 ((lambda (x) (+ x 1)))) (some-> false not)]", [5, 7, 2, True]),
        ("(-> 1 (-> inc inc) (->> (- 10)))", 7),
        ("[(and true false (raise 1)) (and null 0) (or false 5 (raise 1)) (or 0 1)]", [False, 0, 5, 0]),
        ("[(when false (raise 1)) (when-not true (raise 1)) (case 1 [(2 1) :a] [1 :b])]", [None, None, "a"]),
        ('(eq (join "" (range 99)) (join "" (range 99)))', True),
    ],
)
def test_a_builtin_gives(source: str, expected: object) -> None:
    if expected == "error":
        with pytest.raises(EvaluationError):
            run(source)
    else:
        assert run(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        '(+ 1 "2")',
        "(+ true 1)",
        "(- null)",
        "(/ 1 0)",
        "(/ 1.0 0)",
        "(mod 1 0)",
        "(* 1e308 10)",
        '(= "a" "a")',
        '(= 1 2 "a")',
        '(< 1 "a")',
        "(< null 1)",
        "(sort [1 :a])",
        "(sort [true false])",
        '(sort-by identity [1 "a"])',
        '(number "x")',
        "(number null)",
        "(round 1.5 99)",
        "(even? 1.5)",
        "(zero? null)",
        "(empty? 1)",
        "(length 1)",
        "(first 1)",
        "(rest :a)",
        "(nth [1] 1)",
        '(nth [1] "0")',
        "(append '(1) 2)",
        "(conj 1 2)",
        "(conj {} 1)",
        "(cons 1 2)",
        "(concat [1] 2)",
        "(range 1.5)",
        "(range 1 5 0)",
        "(partition 0 [1])",
        "(map 1 [1])",
        "(map inc 1)",
        "(map [1] [0])",
        "(filter null [1])",
        "(fold-left 1 2 [3])",
        "(object :a)",
        "(object 1 2)",
        "(get {} :a)",
        "(get [1] 0)",
        "(get {} 1)",
        "(assoc {} :a)",
        "(assoc 1 :a 1)",
        "(dissoc null :a)",
        "(merge {} null)",
        "(keys [1])",
        "(vals null)",
        '(split "a" "")',
        '(replace "a" "" "b")',
        '(substring "abc" 2 1)',
        '(substring "abc" 4)',
        "(upper 1)",
        "(lower null)",
        "(trim :a)",
        '(includes? "a" 1)',
        "(starts-with? 1 2)",
        '(ends-with? "a" null)',
        "(join 1 [])",
        "(keyword 1)",
        '(name "a")',
        "(apply +)",
        "(apply + 1)",
        "(apply 1 [])",
        "(apply inc [])",
        "(apply inc [1 2])",
        "(apply :a [])",
        "(apply {} [])",
        "(partial 1)",
        "(comp inc 1)",
        "(juxt 1)",
        "(raise)",
    ],
)
def test_a_builtin_refuses(source: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        run(source)
    assert not isinstance(caught.value, LimitExceeded)
    assert caught.value.attributes["reason"]


ANYTHING: list[Value] = [
    None,
    True,
    -1,
    1.5,
    float("nan"),
    Fraction(1, 3),
    10**400,
    "text",
    Keyword("a"),
    Symbol("a"),
    (1, 2),
    [3, "x"],
    {"a": 1},
    Pair(1, 2),
    LIBRARY["list"],
    object(),
]


@pytest.mark.parametrize("name", sorted(LIBRARY))
def test_a_builtin_survives_anything(name: str) -> None:
    """Whatever it is given, a builtin gives a value or one of our errors."""
    builtin = LIBRARY[name]
    most = 3 if builtin.most is None else builtin.most
    for count in range(builtin.least, most + 1):
        program = compile_ale(f"(str ({name} {' '.join('xyz'[:count])}))", "xyz")
        for values in product(ANYTHING, repeat=count):
            with suppress(EvaluationError):
                program.run(dict(zip("xyz", values, strict=False)))
