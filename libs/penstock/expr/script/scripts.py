"""Scripts and predicates of every language, and Python conditions: the one door the rest of Penstock uses."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Self, TypeVar

from penstock.core.model.evaluate import Json
from penstock.expr.errors import CompileError
from penstock.expr.script.ale import Ale
from penstock.expr.script.language import Language, Limits, PureLanguage, Script
from penstock.expr.script.lua import Lua
from penstock.expr.script.python import Python
from penstock.expr.script.result import outputs

T = TypeVar("T")


class Scripts:
    """Owns the sandbox processes; none is started before it is needed. Close it, or use it with `async with`."""

    def __init__(self, *, processes: int = 10, python: str | None = None) -> None:
        self._ale = Ale()
        self._python = Python(processes, python)
        self._languages: dict[str, Language] = {"ale": self._ale, "lua": Lua(processes), "python": self._python}
        self._pure: dict[str, PureLanguage] = {"ale": self._ale}

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(self._languages)

    @property
    def python_engine(self) -> str:
        return self._python.engine

    def is_pure(self, language: str) -> bool:
        """Whether `run_now` and `test_now` know it."""
        return language in self._pure

    async def check(self, script: Script) -> None:
        """Refuse at registration what does not compile."""
        await _known(self._languages, script.language).check(script)

    async def run(self, script: Script, values: Mapping[str, Json]) -> dict[str, Json]:
        """The outputs of a step."""
        return outputs(await _known(self._languages, script.language).run(script, values))

    async def test(self, script: Script, values: Mapping[str, Json]) -> bool:
        """The verdict of a predicate."""
        return await _known(self._languages, script.language).test(script, values)

    def run_now(self, script: Script, values: Mapping[str, Json]) -> dict[str, Json]:
        return outputs(_known(self._pure, script.language).run_now(script, values))

    def test_now(self, script: Script, values: Mapping[str, Json]) -> bool:
        return _known(self._pure, script.language).test_now(script, values)

    async def check_python(self, code: str, *, timeout_ms: int = 1000, max_memory_mb: int = 50) -> None:
        """Refuse a `python_sandbox` condition that does not compile or defines no `evaluate`."""
        await self._python.check_condition(code, Limits(timeout_ms, max_memory_mb))

    async def evaluate_python(
        self, code: str, output: Json, context: Json, *, timeout_ms: int = 1000, max_memory_mb: int = 50
    ) -> bool:
        """The verdict of a `python_sandbox` condition: whether `evaluate(output, context)` is true."""
        return await self._python.test_condition(code, output, context, Limits(timeout_ms, max_memory_mb))

    async def close(self) -> None:
        for language in self._languages.values():
            await language.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _known(languages: Mapping[str, T], name: str) -> T:
    try:
        return languages[name]
    except KeyError:
        raise CompileError(
            language=name, line=1, column=1, reason="not a language here", expected=" or ".join(languages)
        ) from None
