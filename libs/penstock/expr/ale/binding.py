"""The special forms that give names to values: let, lambda, for and their kin."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.expr.ale import nodes
from penstock.expr.ale.branching import NULL, choose, takes
from penstock.expr.ale.calls import invoke
from penstock.expr.ale.faults import RunError, SourceError
from penstock.expr.ale.limits import Meter
from penstock.expr.ale.scope import Scope, SpecialForm
from penstock.expr.ale.syntax import DottedForm, Form, ListForm, Name, VectorForm, show
from penstock.expr.ale.values import METER, Code, Frame, Lambda, Template, Value, as_items

_LAMBDAS = frozenset(("lambda", "λ"))


def store(slot: int, value: Code) -> Code:
    def run(frame: Frame) -> None:
        frame[slot] = value(frame)

    return run


def make(template: Template) -> Code:
    return lambda frame: Lambda(template, frame)


def _let(form: ListForm, scope: Scope, tail: bool) -> Code:
    """The values do not see the names."""
    clauses, *body = takes(form, 2, None, "`(let ([name value] …) form …)`")
    inner = scope.inner()
    values = [(name, scope.compile(value)) for name, value in _bindings(clauses)]
    stores = [store(inner.bind(name.name), value) for name, value in values]
    return nodes.sequence([*stores, inner.body(body, tail=tail)])


def _let_star(form: ListForm, scope: Scope, tail: bool) -> Code:
    """Each value sees the names before it."""
    clauses, *body = takes(form, 2, None, "`(let* ([name value] …) form …)`")
    inner = scope.inner()
    stores = []
    for name, value in _bindings(clauses):
        code = inner.compile(value)
        stores.append(store(inner.bind(name.name), code))
    return nodes.sequence([*stores, inner.body(body, tail=tail)])


def _let_rec(form: ListForm, scope: Scope, tail: bool) -> Code:
    """Procedures that see themselves and each other."""
    clauses, *body = takes(form, 2, None, "`(let-rec ([name (lambda …)] …) form …)`")
    inner = scope.inner()
    bound = [(inner.bind(name.name), value) for name, value in _bindings(clauses)]
    for _, value in bound:
        match value:
            case ListForm((Name(head), *_)) if head in _LAMBDAS:
                pass
            case _:
                raise SourceError(value.at, f"{show(value)} cannot be bound by let-rec", "`(lambda …)`")
    stores = [store(slot, inner.compile(value)) for slot, value in bound]
    return nodes.sequence([*stores, inner.body(body, tail=tail)])


def _if_let(form: ListForm, scope: Scope, tail: bool) -> Code:
    clause, then, *otherwise = takes(form, 2, 3, "`(if-let [name value] then else)`")
    test, inner = _bound_test(clause, scope)
    return choose(
        test,
        inner.compile(then, tail=tail),
        scope.compile(otherwise[0], tail=tail) if otherwise else NULL,
    )


def _when_let(form: ListForm, scope: Scope, tail: bool) -> Code:
    clause, *body = takes(form, 2, None, "`(when-let [name value] form …)`")
    test, inner = _bound_test(clause, scope)
    return choose(test, inner.body(body, tail=tail), NULL)


def _bound_test(clause: Form, scope: Scope) -> tuple[Code, Scope]:
    name, value = _binding(clause)
    inner = scope.inner()
    code = scope.compile(value)
    slot = inner.bind(name.name)
    return nodes.sequence([store(slot, code), nodes.variable(0, slot)]), inner


def _lambda(form: ListForm, scope: Scope, _: bool) -> Code:
    parameters, *body = takes(form, 2, None, "`(lambda (name …) form …)`")
    return make(_template(parameters, body, scope))


def _lambda_rec(form: ListForm, scope: Scope, _: bool) -> Code:
    """A lambda that sees itself by name."""
    name, parameters, *body = takes(form, 3, None, "`(lambda-rec name (parameter …) form …)`")
    inner = scope.inner()
    slot = inner.bind(_name(name).name)
    return nodes.sequence([store(slot, make(_template(parameters, body, inner))), nodes.variable(0, slot)])


def _thunk(form: ListForm, scope: Scope, _: bool) -> Code:
    return make(_template(ListForm((), form.at), takes(form, 1, None, "`(thunk form …)`"), scope))


def _template(parameters: Form, body: Sequence[Form], scope: Scope) -> Template:
    names, rest = _parameters(parameters)
    inner = scope.inner_function()
    for name in names:
        inner.bind(name.name)
    if len({name.name for name in names}) != len(names):
        raise SourceError(parameters.at, "a parameter is named twice", "different names")
    code = inner.body(body, tail=True)
    return inner.function.template(code, parameters=len(names), rest=rest)


def _parameters(form: Form) -> tuple[list[Name], bool]:
    """`(a b)`, `(a . rest)`, or one name for them all."""
    match form:
        case ListForm(items):
            return list(map(_name, items)), False
        case DottedForm(items, tail):
            return [*map(_name, items), _name(tail)], True
        case Name():
            return [form], True
        case _:
            raise SourceError(form.at, f"{show(form)} cannot be parameters", "`(name …)`")


def _for(form: ListForm, scope: Scope, _: bool) -> Code:
    clauses, *body = takes(form, 2, None, "`(for ([name sequence] …) form …)`")
    return _loop(_bindings(clauses), body, scope, form.at)


def _loop(clauses: Sequence[tuple[Name, Form]], body: Sequence[Form], scope: Scope, at: int) -> Code:
    """The last sequence changes fastest. Each turn has a frame of its own, as lambdas may keep it."""
    (name, values), *rest = clauses
    code = scope.compile(values)
    inner = scope.inner_function()
    inner.bind(name.name)
    turn = _loop(rest, body, inner, at) if rest else inner.body(body, tail=False)
    template = inner.function.template(turn, parameters=1)
    collect: Callable[[list[Value], Value], None] = list.extend if rest else list.append

    def run(frame: Frame) -> Value:
        meter: Meter = frame[METER]
        procedure = Lambda(template, frame)
        made: list[Value] = []
        try:
            for item in as_items(meter, code(frame)):
                collect(made, invoke(meter, procedure, (item,)))
            meter.copy(len(made))
        except RunError as error:
            error.locate(at)
            raise
        return made

    return run


def _bindings(form: Form) -> list[tuple[Name, Form]]:
    """`[name value]`, or a list of them."""
    match form:
        case ListForm((_, *_) as clauses):
            return list(map(_binding, clauses))
        case _:
            return [_binding(form)]


def _binding(form: Form) -> tuple[Name, Form]:
    match form:
        case VectorForm((Name() as name, value)):
            return name, value
        case _:
            raise SourceError(form.at, f"{show(form)} is not a binding", "`[name value]` or `([name value] …)`")


def _name(form: Form) -> Name:
    if isinstance(form, Name):
        return form
    raise SourceError(form.at, f"{show(form)} is not a name", "a name")


FORMS: dict[str, SpecialForm] = {
    "let": _let,
    "let*": _let_star,
    "let-rec": _let_rec,
    "if-let": _if_let,
    "when-let": _when_let,
    "lambda": _lambda,
    "λ": _lambda,
    "lambda-rec": _lambda_rec,
    "thunk": _thunk,
    "for": _for,
}
