"""The values of Ale. JSON values are Ale values as they are, so a run copies nothing on its way in.

null, '()    None                 the empty list and the absence of a value are one in Ale
boolean      bool                 only `false` is false; null and 0 are not
number       int, float, Fraction
string       str
keyword      Keyword              `:name`, a procedure of objects
symbol       Symbol               only inside quoted data
list         tuple, never empty
vector       list                 never changed in place: it may be the caller's
object       dict[str, Value]     never changed in place; `:name` and "name" are the same key
pair         Pair                 `(key . value)`, an entry of an object
procedure    Lambda, Builtin, Keyword, dict
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from msgspec import Struct

from penstock.expr.ale.faults import RunError
from penstock.expr.ale.limits import Meter

Value: TypeAlias = Any  # one of the table above: told apart by `type(…) is …`, as bool must not pass for int
Frame: TypeAlias = list[Value]  # one call: the meter, the frame around it, then parameters and let bindings
Code: TypeAlias = Callable[[Frame], Value]  # a compiled form

METER, AROUND, FIRST_SLOT = 0, 1, 2


class Keyword(Struct, frozen=True):
    name: str


class Symbol(Struct, frozen=True):
    name: str


class Pair(Struct, frozen=True):
    key: Value
    value: Value


class Builtin(Struct, frozen=True, eq=False):
    """A procedure written in Python: `function(meter, *arguments)`."""

    name: str
    function: Callable[..., Value]
    least: int
    most: int | None

    def check(self, count: int) -> None:
        check_arity(self.name, self.least, self.most, count)


class Template(Struct, frozen=True, eq=False):
    """The compiled text of a lambda, shared by all the procedures made from it."""

    least: int
    rest: bool
    body: Code
    padding: list[None]  # the slots of its let bindings
    cost: int  # steps of one call
    height: int  # Python frames of one call

    def check(self, count: int) -> None:
        if count != self.least:
            check_arity("the procedure", self.least, None if self.rest else self.least, count)

    def frame(self, meter: Meter, around: Frame, arguments: Sequence[Value]) -> Frame:
        if self.rest:
            arguments = (*arguments[: self.least], as_list(arguments[self.least :]))
        return [meter, around, *arguments, *self.padding]


class Lambda(Struct, frozen=True, eq=False):
    """A procedure made by a program: a template and the frame it was made in."""

    template: Template
    around: Frame


NUMBERS = frozenset((int, float, Fraction))
CONTAINERS = frozenset((list, tuple, dict, Pair))
PROCEDURES = frozenset((Lambda, Builtin, Keyword, dict))

_NAMES = {
    type(None): "null",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    Fraction: "a number",
    str: "a string",
    Keyword: "a keyword",
    Symbol: "a symbol",
    tuple: "a list",
    list: "a vector",
    dict: "an object",
    Pair: "a pair",
    Lambda: "a procedure",
    Builtin: "a procedure",
}


def describe(value: Value) -> str:
    return _NAMES.get(type(value), f"a Python {type(value).__name__}")


def wrong(expected: str, value: Value) -> RunError:
    return RunError(f"expected {expected}, got {describe(value)}")


def check_arity(name: str, least: int, most: int | None, count: int) -> None:
    if count < least or (most is not None and count > most):
        raise RunError(f"{name} takes {arity(least, most)}, got {count}")


def arity(least: int, most: int | None) -> str:
    if most is None:
        return f"{least} or more arguments"
    if least != most:
        return f"{least} to {most} arguments"
    return "1 argument" if least == 1 else f"{least} arguments"


def as_list(values: Iterable[Value]) -> tuple[Value, ...] | None:
    return tuple(values) or None


def as_items(meter: Meter, value: Value) -> Sequence[Value]:
    """What a sequence holds, in order; a string holds its characters, an object its pairs."""
    kind = type(value)
    if kind is list or kind is tuple or kind is str:
        return value  # type: ignore[no-any-return]  # the line above has just looked
    if value is None:
        return ()
    if kind is dict:
        meter.spend(len(value))
        return [Pair(Keyword(name), entry) for name, entry in value.items()]
    raise wrong("a sequence", value)


def as_key(value: Value) -> str:
    if type(value) is Keyword:
        return value.name
    if type(value) is str:
        return value
    raise wrong("a keyword or a string as key", value)


def as_object(value: Value) -> dict[str, Value]:
    if type(value) is dict:
        return value
    raise wrong("an object", value)


def as_text(value: Value) -> str:
    if type(value) is str:
        return value
    raise wrong("a string", value)


def as_index(value: Value) -> int:
    """A whole number, also one that JSON spelled as a float."""
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)
    raise wrong("a whole number", value)
