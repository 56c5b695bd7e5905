"""Python in a sandbox process, by RestrictedPython: the fallback where pydantic-monty has no wheel.

RestrictedPython alone is no border, so the process serves one run and is thrown away.
"""

from __future__ import annotations

import ast
import builtins
import math
import operator
from typing import Any

from RestrictedPython import compile_restricted_exec, safe_builtins
from RestrictedPython.Guards import (
    full_write_guard,
    guarded_iter_unpack_sequence,
    guarded_unpack_sequence,
    safer_getattr_raise,
)

from penstock.expr.script.inside.loop import Fault

_FILE = "<script>"
_PLAIN = "all any dict enumerate filter frozenset iter list map max min next reversed set sorted sum tuple zip"
_INPLACE = {
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
    def check(self, source: str) -> None:
        self._compile(source)

    def run(self, source: str, values: list[Any], max_memory_mb: int) -> Any:  # noqa: ANN401, ARG002 - any JSON; the kernel counts
        code = self._compile(source)
        names = _globals()
        try:
            exec(code, names)  # noqa: S102 - what this process is for
            return names["evaluate"](*values)
        except MemoryError:
            raise Fault("limit", "memory") from None
        except BaseException as error:  # noqa: BLE001 - a script may raise anything
            raise Fault("error", _describe(error), _line(error)) from None

    def test(self, source: str, values: list[Any], max_memory_mb: int) -> bool:
        return bool(self.run(source, values, max_memory_mb))

    def tidy(self) -> None:
        pass

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
        "__builtins__": {**safe_builtins, **names, "__import__": _import},
        "__name__": "script",
        "__metaclass__": type,
        "_getattr_": safer_getattr_raise,
        "_getitem_": operator.getitem,
        "_getiter_": iter,
        "_inplacevar_": _inplace,
        "_iter_unpack_sequence_": guarded_iter_unpack_sequence,
        "_print_": _Silence,
        "_unpack_sequence_": guarded_unpack_sequence,
        "_write_": full_write_guard,
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
