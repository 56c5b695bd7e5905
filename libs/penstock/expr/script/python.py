"""Python scripts and conditions: how they become a module that defines `evaluate`, and the port that runs it.

Two adapters: `monty` (pydantic-monty, an interpreter without a host) and `restricted` (RestrictedPython, for
machines that have no monty wheel).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.util import find_spec
from keyword import kwlist
from typing import Protocol

from msgspec import Struct

from penstock.core.model.evaluate import Json
from penstock.expr.errors import CompileError, EvaluationError, SandboxUnavailable
from penstock.expr.script.language import Limits, Script, check_source, compiling

LANGUAGE = "python"
_INDENT = "    "
_KEYWORDS = frozenset(kwlist)
# Strings and comments are passed over whole: only line breaks between them start a line of code.
_LINE_BREAKS = re.compile(
    r"""
    \#[^\n]*
    | \"\"\"(?:\\.|[^\\])*?(?:\"\"\"|\Z) | '''(?:\\.|[^\\])*?(?:'''|\Z)
    | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'
    | \n
    """,
    re.VERBOSE | re.DOTALL,
)


class Module(Struct, frozen=True):
    """Python text that defines `evaluate`, and where the user's own source lies in it."""

    text: str
    lines: int
    lines_before: int = 0
    columns_before: int = 0

    def compile_error(self, line: int | None, column: int | None, reason: str) -> CompileError:
        return CompileError(
            language=LANGUAGE,
            line=self.line(line),
            column=max((column or 1) - self.columns_before, 1),
            reason=reason,
            expected="valid Python that defines what is run",
        )

    def evaluation_error(self, line: int | None, reason: str) -> EvaluationError:
        if line is None:
            return EvaluationError(language=LANGUAGE, reason=reason, line=None)
        line = self.line(line)
        return EvaluationError(language=LANGUAGE, reason=f"line {line}: {reason}", line=line)

    def line(self, line: int | None) -> int:
        return min(max((line or 1) - self.lines_before, 1), self.lines)


class PythonEngine(Protocol):
    async def check(self, module: Module, limits: Limits) -> None:
        """Compile it, and run its top level once: `evaluate` must be there."""

    async def run(self, module: Module, values: list[Json], limits: Limits) -> Json:
        """What `evaluate(*values)` returns."""

    async def test(self, module: Module, values: list[Json], limits: Limits) -> bool:
        """Whether it is true, as `bool()` sees it."""

    async def close(self) -> None: ...


class Python:
    """Starts its engine when first used: the one asked for, else the best there is."""

    def __init__(self, processes: int, engine: str | None = None) -> None:
        self.engine = engine or ("monty" if find_spec("pydantic_monty") else "restricted")
        self._processes = processes
        self._started: PythonEngine | None = None

    async def check(self, script: Script) -> None:
        with compiling(LANGUAGE):
            await (await self._start()).check(_function(script.source, script.arguments), script.limits)

    async def run(self, script: Script, values: Mapping[str, Json]) -> Json:
        module = _function(script.source, script.arguments)
        return await (await self._start()).run(module, script.bind(values), script.limits)

    async def test(self, script: Script, values: Mapping[str, Json]) -> bool:
        module = _function(script.source, script.arguments)
        return await (await self._start()).test(module, script.bind(values), script.limits)

    async def check_condition(self, code: str, limits: Limits) -> None:
        with compiling(LANGUAGE):
            await (await self._start()).check(_module(code), limits)

    async def test_condition(self, code: str, output: Json, context: Json, limits: Limits) -> bool:
        return await (await self._start()).test(_module(code), [output, context], limits)

    async def close(self) -> None:
        if self._started:
            await self._started.close()

    async def _start(self) -> PythonEngine:
        if self._started is None:
            await asyncio.to_thread(_engine, self.engine)  # a slow import, off the loop
        return self._create()

    def _create(self) -> PythonEngine:
        if self._started is None:
            self._started = _engine(self.engine)(self._processes)
        return self._started


def _engine(name: str) -> Callable[[int], PythonEngine]:
    # Each imports what may not be installed.
    if name == "monty":
        from penstock.expr.script.monty import Monty  # noqa: PLC0415

        return Monty
    if name == "restricted":
        from penstock.expr.script.restricted import Restricted  # noqa: PLC0415

        return Restricted
    raise SandboxUnavailable(language=LANGUAGE, reason=f"there is no engine `{name}`, only monty and restricted")


@lru_cache(1024)
def _function(source: str, arguments: tuple[str, ...]) -> Module:
    """A script is the body of a function of its arguments: they are locals, and `return` ends it."""
    check_source(LANGUAGE, source, arguments, _KEYWORDS)
    lines = source.replace("\r\n", "\n").replace("\r", "\n")
    body = _LINE_BREAKS.sub(lambda found: "\n" + _INDENT if found[0] == "\n" else found[0], lines)
    text = f"def evaluate({', '.join(sorted(arguments))}):\n{_INDENT}{body}\n"
    return Module(text, lines.count("\n") + 1, lines_before=1, columns_before=len(_INDENT))


@lru_cache(1024)
def _module(code: str) -> Module:
    """A condition defines `evaluate(output, context)` itself."""
    check_source(LANGUAGE, code, (), _KEYWORDS)
    return Module(code + "\n", code.count("\n") + 1)
