"""What hostile Ale tries, and what must come of it."""

from __future__ import annotations

from penstock.expr.errors import CompileError, ExprError, ExpressionTooComplex

ALE: dict[str, tuple[str, type[Exception] | object]] = {
    "open": ('(open "CANARY")', CompileError),
    "slurp": ('(slurp "CANARY")', CompileError),
    "eval": ("(eval '(+ 1 2))", CompileError),
    "read": ('(read "CANARY")', CompileError),
    "define": ("(define + 1)", CompileError),
    "python attribute": ("(. 1 __class__)", ExprError),
    "dunder": ("__import__", CompileError),
    "keyword to a class": ("(:__class__ {})", None),
    "namespace": ("sys/open", CompileError),
    "go": ("(go (+ 1 1))", CompileError),
    "macro": ("(define-macro (m) 1)", CompileError),
    "endless tail call": ("((lambda-rec f () (f)))", ExprError),
    "endless recursion": ("((lambda-rec f (n) (+ 1 (f n))) 1)", ExprError),
    "omega": ("((lambda (x) (x x)) (lambda (x) (x x)))", ExprError),
    "Y": ("((lambda (f) (f f 1)) (lambda (f n) (f f (+ n 1))))", ExprError),
    "range": ("(range 0 1000000000000)", ExprError),
    "sum of a range": ("(apply + (range 0 100000000))", ExprError),
    "nested for": ("(for ((a (range 0 10000)) (b (range 0 10000))) (+ a b))", ExprError),
    "factorial": ("((lambda-rec f (n) (if (<= n 1) 1 (* n (f (- n 1))))) 100000)", ExprError),
    "squaring": ("((lambda-rec f (n) (f (* n n))) 9)", ExprError),
    "doubling text": ('((lambda-rec f (s) (f (str s s))) "x")', ExprError),
    "doubling vectors": ("((lambda-rec f (v) (f (concat v v))) [1])", ExprError),
    "infinity": ("(* 1e308 10)", ExprError),
    "deep parentheses": ("(" * 10_000 + ")" * 10_000, ExprError),
    "deep vectors": ("[" * 10_000 + "]" * 10_000, ExprError),
    "deep quotes": ("'" * 10_000 + "a", ExprError),
    "a megabyte": ("(+ 1 1) " * 140_000, ExpressionTooComplex),
    "unclosed": ("(+ 1", CompileError),
    "unclosed text": ('"abc', CompileError),
    "too many closed": ("(+ 1 2))", CompileError),
    "odd object": ("{:a}", CompileError),
    "a procedure": ("(lambda (x) x)", ExprError),
    "null byte": ("\0", CompileError),
}
