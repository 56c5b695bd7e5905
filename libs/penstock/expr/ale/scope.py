"""Which name is which slot of which frame, and what the lambda being compiled will cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, TypeAlias

from penstock.expr.ale import nodes
from penstock.expr.ale.calls import BUILTIN_FRAMES
from penstock.expr.ale.syntax import Form, ListForm
from penstock.expr.ale.values import FIRST_SLOT, Code, Template

_CALL_COST = 10  # steps: a call takes as long as evaluating about ten forms
_SLOTS_PER_STEP = 8  # making a frame of eight slots takes about as long as evaluating a form


class Compile(Protocol):
    """`tail` says that the value of the form is the value of the lambda around it."""

    def __call__(self, scope: Scope, form: Form, *, tail: bool = False) -> Code: ...


class Function:
    """A lambda under compilation. One frame holds all its let bindings: each is evaluated once per call."""

    def __init__(self) -> None:
        self.slots = 0
        self.cost = 0
        self._level = 0
        self._height = 0

    def descend(self) -> None:
        self.cost += 1
        self._level += 1
        self._height = max(self._height, self._level)

    def ascend(self) -> None:
        self._level -= 1

    def template(self, body: Code, *, parameters: int, rest: bool = False) -> Template:
        return Template(
            least=parameters - rest,
            rest=rest,
            body=body,
            padding=[None] * (self.slots - parameters),
            cost=_CALL_COST + self.cost + self.slots // _SLOTS_PER_STEP,
            height=self._height + BUILTIN_FRAMES,
        )


class Scope:
    """The names visible at one place of the source; inner scopes hide outer ones."""

    def __init__(self, compiler: Compile, function: Function, outer: Scope | None = None) -> None:
        self.compile = partial(compiler, self)
        self.function = function
        self._compiler = compiler
        self.outer = outer
        self.slots: dict[str, int] = {}

    def inner(self) -> Scope:
        """For a let: other names, the same frame."""
        return Scope(self._compiler, self.function, self)

    def inner_function(self) -> Scope:
        """For a lambda: a frame of its own."""
        return Scope(self._compiler, Function(), self)

    def body(self, forms: Sequence[Form], *, tail: bool) -> Code:
        """Forms one after the other; the last gives the value, and there must be one."""
        *firsts, last = forms
        return nodes.sequence([*map(self.compile, firsts), self.compile(last, tail=tail)])

    def bind(self, name: str) -> int:
        slot = self.slots[name] = FIRST_SLOT + self.function.slots
        self.function.slots += 1
        return slot

    def find(self, name: str) -> tuple[int, int] | None:
        """How many frames out a name lives, and its slot there."""
        distance = 0
        scope: Scope | None = self
        while scope is not None:
            if name in scope.slots:
                return distance, scope.slots[name]
            if scope.outer is not None and scope.outer.function is not scope.function:
                distance += 1
            scope = scope.outer
        return None

    def hides(self, name: str) -> bool:
        """Whether a let or a lambda gives another meaning to a call of `name`.

        The arguments of the program do not: an input called `count` or `case` must not take the builtin away.
        """
        scope = self
        while scope.outer is not None:
            if name in scope.slots:
                return True
            scope = scope.outer
        return False

    def names(self) -> list[str]:
        names: list[str] = []
        scope: Scope | None = self
        while scope is not None:
            names += scope.slots
            scope = scope.outer
        return names


SpecialForm: TypeAlias = Callable[[ListForm, Scope, bool], Code]  # the last says: in tail position
