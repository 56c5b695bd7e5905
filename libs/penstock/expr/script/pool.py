"""Sandbox processes of one kind: started when first needed, lent for one request at a time, replaced when dead."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import Literal

import msgspec
from msgspec import Struct

from penstock.core.model.evaluate import Json
from penstock.expr.errors import EvaluationError, SandboxUnavailable
from penstock.expr.script.inside.frame import REQUEST
from penstock.expr.script.language import Limits
from penstock.expr.script.result import decode
from penstock.expr.script.sandbox import Recipe, Sandbox

Operation = Literal["check", "run", "test"]
_LETTERS: dict[Operation, bytes] = {"check": b"c", "run": b"r", "test": b"t"}
# The way there and back; the limit is for the script.
_GRACE_SECONDS = 0.02


class Complaint(Struct, frozen=True):
    """What an engine inside a sandbox finds wrong with a script. Positions are those of the wrapped source."""

    kind: Literal["compile", "error", "limit"]
    reason: str
    line: int | None
    column: int | None


class Faulty(Exception):
    """Not an error to show yet: its language knows where in the user's source it belongs."""

    def __init__(self, complaint: Complaint) -> None:
        super().__init__(complaint)
        self.complaint = complaint


class Pool:
    """`reuse=False` gives every request a process of its own."""

    def __init__(self, recipe: Recipe, size: int, *, reuse: bool = True) -> None:
        self._recipe = recipe
        self._reuse = reuse
        self._slots = asyncio.Semaphore(size)
        self._idle: list[Sandbox] = []
        self._all: set[Sandbox] = set()
        self._closed = False

    @property
    def pids(self) -> list[int]:
        return [sandbox.pid for sandbox in self._all if sandbox.alive]

    async def ask(self, operation: Operation, source: str, values: bytes, limits: Limits) -> Json:
        text = source.encode()
        head = REQUEST.pack(_LETTERS[operation], limits.timeout_ms, limits.max_memory_mb, len(text))
        async with self._slots:
            answer = await self._lend(head + text + values, limits.timeout_ms / 1000 + _GRACE_SECONDS)
        if answer[:1] == b"e":
            raise Faulty(self._complaint(answer[1:]))
        return await decode(self._recipe.language, answer[1:])

    async def close(self) -> None:
        self._closed = True
        for sandbox in self._all:
            sandbox.kill(self._unavailable("the pool was closed"))
        await asyncio.gather(*(sandbox.ended() for sandbox in self._all))

    async def _lend(self, request: bytes, seconds: float) -> bytes:
        sandbox = self._take() or await self._start()
        answer = await sandbox.ask(request, seconds)
        if self._reuse:
            self._idle.append(sandbox)  # the one used last is lent first, so that few are ever started
        else:
            sandbox.kill()
        return answer

    def _take(self) -> Sandbox | None:
        while self._idle:
            sandbox = self._idle.pop()
            if sandbox.alive:
                return sandbox
        return None

    async def _start(self) -> Sandbox:
        self._all = {sandbox for sandbox in self._all if not sandbox.gone}
        if self._closed:
            raise self._unavailable("the pool was closed")
        sandbox = await Sandbox.start(self._recipe)
        self._all.add(sandbox)
        return sandbox

    def _complaint(self, text: bytes) -> Complaint:
        try:
            return msgspec.json.decode(text, type=Complaint)
        except msgspec.DecodeError:
            raise EvaluationError(language=self._recipe.language, reason="the sandbox broke its protocol") from None

    def _unavailable(self, reason: str) -> SandboxUnavailable:
        return SandboxUnavailable(language=self._recipe.language, reason=reason)


def folder_of(language: str, package: str) -> str:
    """Where a package was installed: the sandbox sees no site-packages but what it is told."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise SandboxUnavailable(language=language, reason=f"{package} is not installed")
    return spec.submodule_search_locations[0].removesuffix(package)
