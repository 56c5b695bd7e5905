"""Python in a sandbox process, by RestrictedPython: the fallback where pydantic-monty has no wheel.

RestrictedPython alone is no border, so the process serves one run and is thrown away.
"""

from __future__ import annotations

import ast
import builtins
import json
import math
import operator
from typing import TYPE_CHECKING, Any, TypeVar

from RestrictedPython import Guards
from RestrictedPython.compile import compile_restricted_exec

from penstock.expr.script.inside.loop import Fault, encode

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
_FILE = "<script>"
_PLAIN = "all any dict enumerate filter frozenset iter list map max min next reversed set sorted sum tuple zip"
_INPLACE: dict[str, Callable[[Any, Any], Any]] = {
    "+=": operator.iadd,
    "-=": operator.isub,
    "*=": operator.imul,
    "/=": operator.itruediv,
    "//=": operator.ifloordiv,
    "%=": operator.imod,
    "**=": operator.ipow,
    "&=": operator.iand,
    "|=": operator.ior,
    "^=": operator.ixor,
    "<<=": operator.ilshift,
    ">>=": operator.irshift,
}


class Restricted:
    def check(self, source: bytes) -> None:
        _guard(lambda: self._define(source))

    def run(self, source: bytes, values: bytes, max_memory_mb: int) -> str:  # noqa: ARG002 - the kernel counts
        value = _guard(lambda: self._define(source)(*json.loads(values)))
        try:
            text = encode(value)
        except RecursionError:
            raise Fault("limit", "nesting") from None
        except (TypeError, ValueError) as error:  # what the encoder says of NaN, cycles, things that are no JSON
            raise Fault("error", f"the result is not JSON: {error}") from None
        return text

    def test(self, source: bytes, values: bytes, max_memory_mb: int) -> bool:  # noqa: ARG002 - the kernel counts
        return _guard(lambda: bool(self._define(source)(*json.loads(values))))

    def tidy(self) -> None:
        pass

    def _define(self, source: bytes) -> Callable[..., Any]:
        names = _globals()
        exec(self._compile(source.decode()), names)  # noqa: S102 - what this process is for
        evaluate: Callable[..., Any] | None = names.get("evaluate")
        if evaluate is None:
            raise Fault("error", "`evaluate` is not defined")
        return evaluate

    def _compile(self, source: str) -> Any:  # noqa: ANN401 - a code object
        try:
            ast.parse(source)
        except SyntaxError as error:
            raise Fault("compile", error.msg, error.lineno, error.offset) from None
        except (MemoryError, RecursionError, ValueError):
            raise Fault("compile", "too deeply nested, or not text") from None
        compiled = compile_restricted_exec(source, filename=_FILE)
        if compiled.errors:
            where, _, reason = compiled.errors[0].partition(": ")
            line = where.removeprefix("Line ")
            raise Fault("compile", reason or where, int(line) if line.isdigit() else None)
        return compiled.code


def _guard(action: Callable[[], T]) -> T:
    try:
        return action()
    except Fault:
        raise
    except MemoryError:
        raise Fault("limit", "memory") from None
    except RecursionError:
        raise Fault("limit", "recursion") from None
    except BaseException as error:  # noqa: BLE001 - a script may raise anything
        raise Fault("error", _describe(error), _line(error)) from None


class _Silence:
    """`print` is accepted and goes nowhere."""

    def __init__(self, _getattr_: object = None) -> None:
        pass

    def _call_print(self, *_values: object, **_options: object) -> None:
        pass


def _import(name: str, *_rest: object) -> Any:  # noqa: ANN401 - a module
    if name != "math":
        raise ModuleNotFoundError(name)
    return math


def _inplace(symbol: str, left: Any, right: Any) -> Any:  # noqa: ANN401 - any values of the script
    return _INPLACE[symbol](left, right)


def _globals() -> dict[str, Any]:
    names = {name: getattr(builtins, name) for name in _PLAIN.split()}
    return {
        "__builtins__": {**Guards.safe_builtins, **names, "__import__": _import},
        "__name__": "script",
        "__metaclass__": type,
        "_getattr_": Guards.safer_getattr_raise,
        "_getitem_": operator.getitem,
        "_getiter_": iter,
        "_inplacevar_": _inplace,
        "_iter_unpack_sequence_": Guards.guarded_iter_unpack_sequence,
        "_print_": _Silence,
        "_unpack_sequence_": Guards.guarded_unpack_sequence,
        "_write_": Guards.full_write_guard,
    }


def _describe(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except BaseException:  # noqa: BLE001 - the script's own __str__ may raise
        return type(error).__name__


def _line(error: BaseException) -> int | None:
    line, step = None, error.__traceback__
    while step:
        if step.tb_frame.f_code.co_filename == _FILE:
            line = step.tb_lineno
        step = step.tb_next
    return line
