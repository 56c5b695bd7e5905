"""How a family of builtins is written down: a decorator that reads a procedure's arity off its signature."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import TypeVar

from penstock.expr.ale.values import Builtin, Value

_F = TypeVar("_F", bound=Callable[..., Value])


class Family(dict[str, Builtin]):
    """Builtins of one kind by name. Each is a function of the meter and its arguments."""

    def __call__(self, *names: str) -> Callable[[_F], _F]:
        def add(function: _F) -> _F:
            for name in names:
                self[name] = builtin(name, function)
            return function

        return add


def builtin(name: str, function: Callable[..., Value]) -> Builtin:
    _, *parameters = signature(function).parameters.values()
    least = sum(p.default is Parameter.empty and p.kind is not Parameter.VAR_POSITIONAL for p in parameters)
    rest = any(p.kind is Parameter.VAR_POSITIONAL for p in parameters)
    return Builtin(name, function, least, None if rest else len(parameters))
