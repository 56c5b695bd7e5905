"""Forms to code: every form becomes one Python closure over a frame, names become slots.

What a form costs is known here, so a run pays per call of a lambda, not per form.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from penstock.expr.ale import nodes
from penstock.expr.ale.faults import ComplexityError, SourceError
from penstock.expr.ale.library import LIBRARY
from penstock.expr.ale.limits import Limits
from penstock.expr.ale.scope import Function, Scope
from penstock.expr.ale.special import FORMS
from penstock.expr.ale.syntax import DottedForm, Form, ListForm, Literal, Name, ObjectForm, VectorForm
from penstock.expr.ale.values import Code, Keyword, Template, arity

_LONGEST_SUGGESTED = 40  # a typo of a name is not longer, and comparing is quadratic
_LOOK_UP = (1, 2)  # an object, and what to give when the key is not there


def compile_program(forms: Sequence[Form], arguments: Sequence[str], limits: Limits) -> Template:
    """The whole program as a lambda of its arguments."""
    if not forms:
        raise SourceError(0, "the program is empty", "an expression")
    scope = Scope(_compile, Function())
    for name in arguments:
        scope.bind(name)
    body = scope.body(forms, tail=False)
    template = scope.function.template(body, parameters=len(arguments))
    if template.cost > limits.steps:
        raise ComplexityError(0, "the program is too large to run", f"{limits.steps} steps")
    return template


def _compile(scope: Scope, form: Form, *, tail: bool = False) -> Code:
    scope.function.descend()
    try:
        match form:
            case Name() | Literal():
                return _atom(form, scope)
            case ListForm((Name(name), *_)) if name in FORMS and not scope.hides(name):
                return FORMS[name](form, scope, tail)
            case ListForm():
                return _call(form, scope, tail=tail)
            case VectorForm(items):
                return nodes.vector(list(map(scope.compile, items)))
            case ObjectForm(items, at):
                codes = list(map(scope.compile, items))
                return nodes.object_of(list(zip(codes[::2], codes[1::2], strict=True)), at)
            case DottedForm((key,), value):
                return nodes.pair(scope.compile(key), scope.compile(value))
            case DottedForm(_, _, at):
                raise SourceError(at, "a pair holds two forms", "`(key . value)`")
    finally:
        scope.function.ascend()


def _atom(form: Name | Literal, scope: Scope) -> Code:
    if isinstance(form, Literal):
        return nodes.constant(form.value)
    found = scope.find(form.name)
    if found is not None:
        return nodes.variable(*found)
    if form.name in LIBRARY:
        return nodes.constant(LIBRARY[form.name])
    if form.name in FORMS:
        raise SourceError(form.at, f"`{form.name}` is not a value", f"`({form.name} …)`")
    raise SourceError(form.at, f"`{form.name[:_LONGEST_SUGGESTED]}` is not known here", _known(form.name, scope))


def _known(name: str, scope: Scope) -> str:
    close = []
    if len(name) <= _LONGEST_SUGGESTED:
        close = get_close_matches(name, [*scope.names(), *LIBRARY, *FORMS], n=1)
    return f"perhaps `{close[0]}`" if close else "an argument, a let binding or a builtin"


def _call(form: ListForm, scope: Scope, *, tail: bool) -> Code:
    if not form.items:
        return nodes.constant(None)
    head, *arguments = form.items
    match head:
        case Name(name) if name in LIBRARY and not scope.hides(name):
            builtin = LIBRARY[name]
            _check(form, name, builtin.least, builtin.most)
            return nodes.call_builtin(builtin, list(map(scope.compile, arguments)), form.at)
        case Literal(Keyword() as keyword):
            _check(form, f":{keyword.name[:_LONGEST_SUGGESTED]}", *_LOOK_UP)
            target, *default = map(scope.compile, arguments)
            return nodes.call_keyword(keyword, target, default[0] if default else None, form.at)
        case Literal():
            raise SourceError(head.at, "a literal cannot be called", "a procedure after `(`")
        case _:
            node = nodes.tail_call if tail else nodes.call_any
            return node(scope.compile(head), list(map(scope.compile, arguments)), form.at)


def _check(form: ListForm, name: str, least: int, most: int | None) -> None:
    count = len(form.items) - 1
    if count < least or (most is not None and count > most):
        raise SourceError(form.at, f"`{name}` is given {count}", arity(least, most))
