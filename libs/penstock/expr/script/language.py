"""What a script is, and the port that every script language fills."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from msgspec import Struct

from penstock.core.model.evaluate import Json
from penstock.expr.errors import CompileError, EvaluationError, ExpressionTooComplex, SandboxUnavailable

MAX_SOURCE = 64 * 1024


class Limits(Struct, frozen=True):
    """What one run may take. Pure languages count steps instead."""

    timeout_ms: int = 1000
    max_memory_mb: int = 50


class Script(Struct, frozen=True):
    """User code with named arguments. It is a step when it is run, a predicate when it is tested."""

    language: str
    source: str
    arguments: tuple[str, ...] = ()
    limits: Limits = Limits()

    def bind(self, values: Mapping[str, Json]) -> list[Json]:
        """The values in the order of the sorted argument names; one that is not there is null."""
        return [values.get(name) for name in sorted(self.arguments)]


class Language(Protocol):
    """Compiles and runs scripts of one language. Raises `penstock.expr.errors`."""

    async def check(self, script: Script) -> None:
        """Refuse what does not compile. No user code runs."""

    async def run(self, script: Script, values: Mapping[str, Json]) -> Json:
        """The value the script gives."""

    async def test(self, script: Script, values: Mapping[str, Json]) -> bool:
        """Whether the value is true, by the language's own rule."""

    async def close(self) -> None: ...


class PureLanguage(Language, Protocol):
    """One that needs no sandbox: bounded by its interpreter, safe inside a decision."""

    def run_now(self, script: Script, values: Mapping[str, Json]) -> Json: ...

    def test_now(self, script: Script, values: Mapping[str, Json]) -> bool: ...


def check_source(language: str, source: str, arguments: Iterable[str], reserved: frozenset[str]) -> None:
    """Refuse what must not even reach a compiler: too much text, or an argument that is no plain name."""
    if len(source) > MAX_SOURCE:
        raise ExpressionTooComplex(
            language=language, line=1, column=1, reason="the source is too long", limit=f"{MAX_SOURCE} characters"
        )
    for name in arguments:
        if not (name.isascii() and name.isidentifier()) or name in reserved:
            raise CompileError(
                language=language,
                line=1,
                column=1,
                reason=f"`{name}` cannot name an argument",
                expected="letters, digits and _, no keyword",
            )


@contextmanager
def compiling(language: str) -> Iterator[None]:
    """What runs out of time or memory while it is only being compiled is too much of a program."""
    try:
        yield
    except SandboxUnavailable:
        raise
    except EvaluationError as error:
        limit = "what a sandbox can compile"
        raise ExpressionTooComplex(language=language, line=1, column=1, reason=error.message, limit=limit) from None
