"""Forms: what the reader makes of a source and the compiler makes code of. Each knows where it began."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from msgspec import Struct

from penstock.expr.ale.faults import SourceError
from penstock.expr.ale.values import Keyword, Pair, Symbol, Value, as_list


class Literal(Struct, frozen=True):
    value: Value
    at: int


class Name(Struct, frozen=True):
    name: str
    at: int


class ListForm(Struct, frozen=True):
    items: tuple[Form, ...]
    at: int


class VectorForm(Struct, frozen=True):
    items: tuple[Form, ...]
    at: int


class ObjectForm(Struct, frozen=True):
    items: tuple[Form, ...]  # keys and values in turn
    at: int


class DottedForm(Struct, frozen=True):
    """`(a b . c)`: a pair when it is code, the parameters of a lambda with a rest."""

    items: tuple[Form, ...]
    tail: Form
    at: int


Form: TypeAlias = Literal | Name | ListForm | VectorForm | ObjectForm | DottedForm


def show(form: Form) -> str:
    """A short name for a form in an error."""
    match form:
        case Name(name):
            return f"`{name[:40]}`"
        case Literal(str()):
            return "a string"
        case Literal():
            return "a literal"
        case ListForm() | DottedForm():
            return "a list"
        case VectorForm():
            return "a vector"
        case ObjectForm():
            return "an object"


def data(form: Form) -> Value:
    """The value of a quoted form; the reader has bounded its depth."""
    match form:
        case Literal(value):
            return value
        case Name(name):
            return Symbol(name)
        case ListForm(items):
            return as_list(map(data, items))
        case VectorForm(items):
            return list(map(data, items))
        case ObjectForm():
            return {quoted_key(key): data(value) for key, value in entries(form)}
        case DottedForm((key,), value):
            return Pair(data(key), data(value))
        case DottedForm(_, _, at):
            raise SourceError(at, "a pair holds two forms", "`(key . value)`")


def entries(form: ObjectForm) -> Iterator[tuple[Form, Form]]:
    return zip(form.items[::2], form.items[1::2], strict=True)


def quoted_key(form: Form) -> str:
    match form:
        case Literal(Keyword(name)) | Literal(str() as name):
            return name
        case _:
            raise SourceError(form.at, f"{show(form)} cannot be a key", "a keyword or a string")
