"""The special forms that choose what is evaluated: if, cond, case, and, or and their kin.

Only `false` is false in Ale. Chains are compiled flat, so that a long one is not a deep one.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.expr.ale import nodes
from penstock.expr.ale.equality import same
from penstock.expr.ale.faults import RunError, SourceError
from penstock.expr.ale.scope import Scope, SpecialForm
from penstock.expr.ale.syntax import Form, ListForm, VectorForm, data, show
from penstock.expr.ale.values import METER, Code, Frame, Value

NULL = nodes.constant(None)


def takes(form: ListForm, least: int, most: int | None, usage: str) -> Sequence[Form]:
    """The operands of a special form, if there are as many as it takes."""
    operands = form.items[1:]
    if len(operands) < least or (most is not None and len(operands) > most):
        raise SourceError(form.at, f"{show(form.items[0])} is given {len(operands)} forms", usage)
    return operands


def choose(test: Code, then: Code, otherwise: Code) -> Code:
    def run(frame: Frame) -> Value:
        return otherwise(frame) if test(frame) is False else then(frame)

    return run


def _quote(form: ListForm, _scope: Scope, _tail: bool) -> Code:
    (quoted,) = takes(form, 1, 1, "`(quote form)`")
    return nodes.constant(data(quoted))


def _begin(form: ListForm, scope: Scope, tail: bool) -> Code:
    return scope.body(takes(form, 1, None, "`(begin form …)`"), tail=tail)


def _if(form: ListForm, scope: Scope, tail: bool) -> Code:
    test, then, *otherwise = takes(form, 2, 3, "`(if test then else)`")
    return choose(
        scope.compile(test),
        scope.compile(then, tail=tail),
        scope.compile(otherwise[0], tail=tail) if otherwise else NULL,
    )


def _when(form: ListForm, scope: Scope, tail: bool) -> Code:
    test, *body = takes(form, 2, None, "`(when test form …)`")
    return choose(scope.compile(test), scope.body(body, tail=tail), NULL)


def _when_not(form: ListForm, scope: Scope, tail: bool) -> Code:
    test, *body = takes(form, 2, None, "`(when-not test form …)`")
    return choose(scope.compile(test), NULL, scope.body(body, tail=tail))


def _unless(form: ListForm, scope: Scope, tail: bool) -> Code:
    test, then, *otherwise = takes(form, 2, 3, "`(unless test then else)`")
    return choose(
        scope.compile(test),
        scope.compile(otherwise[0], tail=tail) if otherwise else NULL,
        scope.compile(then, tail=tail),
    )


def _and(form: ListForm, scope: Scope, tail: bool) -> Code:
    if len(form.items) == 1:
        return nodes.constant(True)
    *tests, last = _compile_last(form, scope, tail)

    def run(frame: Frame) -> Value:
        for test in tests:
            if test(frame) is False:
                return False
        return last(frame)

    return run


def _or(form: ListForm, scope: Scope, tail: bool) -> Code:
    if len(form.items) == 1:
        return nodes.constant(False)
    *tests, last = _compile_last(form, scope, tail)

    def run(frame: Frame) -> Value:
        for test in tests:
            value = test(frame)
            if value is not False:
                return value
        return last(frame)

    return run


def _compile_last(form: ListForm, scope: Scope, tail: bool) -> list[Code]:
    _, *firsts, last = form.items
    return [*map(scope.compile, firsts), scope.compile(last, tail=tail)]


def _cond(form: ListForm, scope: Scope, tail: bool) -> Code:
    clauses = []
    for clause in form.items[1:]:
        test, branch = _clause(clause, "`[test value]`")
        clauses.append((scope.compile(test), scope.compile(branch, tail=tail)))

    def run(frame: Frame) -> Value:
        for test, branch in clauses:
            if test(frame) is not False:
                return branch(frame)
        return None

    return run


def _case(form: ListForm, scope: Scope, tail: bool) -> Code:
    """A test is a value, or a list of values; `:else` takes what is left."""
    subject, *forms = takes(form, 1, None, "`(case value [test result] …)`")
    code = scope.compile(subject)
    clauses = []
    for clause in forms:
        test, branch = _clause(clause, "`[value result]` or `[(value …) result]`")
        tests = test.items if isinstance(test, ListForm) else (test,)
        clauses.append((list(map(scope.compile, tests)), scope.compile(branch, tail=tail)))
    at = form.at

    def run(frame: Frame) -> Value:
        value = code(frame)
        try:
            for tests, branch in clauses:
                if any(same(frame[METER], value, test(frame)) for test in tests):
                    return branch(frame)
        except RunError as error:
            error.locate(at)
            raise
        unmatched = RunError("no case matched")
        unmatched.locate(at)
        raise unmatched

    return run


def _clause(form: Form, usage: str) -> tuple[Form, Form]:
    match form:
        case VectorForm((test, branch)):
            return test, branch
        case _:
            raise SourceError(form.at, f"{show(form)} is not a clause", usage)


FORMS: dict[str, SpecialForm] = {
    "quote": _quote,
    "begin": _begin,
    "if": _if,
    "when": _when,
    "when-not": _when_not,
    "unless": _unless,
    "and": _and,
    "or": _or,
    "cond": _cond,
    "case": _case,
}
