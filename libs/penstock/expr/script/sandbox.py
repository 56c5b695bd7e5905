"""One sandbox process as its parent sees it: started, asked one thing at a time, killed when its time is up."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
from pathlib import Path

from msgspec import Struct

from penstock.expr.errors import EvaluationError, LimitExceeded, SandboxUnavailable
from penstock.expr.script import inside
from penstock.expr.script.inside.frame import LENGTH
from penstock.expr.script.result import MAX_BYTES

_START_SECONDS = 30.0
_BUFFER = 1 << 16
_MAX_FRAME = MAX_BYTES * 2
_INSIDE = str(Path(inside.__file__).parent)
# The packages above `inside` are stood in for by empty ones: importing them would cost ten times the memory.
_BOOT = """
import sys
engine, inside, *sys.path[:0] = sys.argv[1:]
for name in "penstock", "penstock.expr", "penstock.expr.script", "penstock.expr.script.inside":
    sys.modules[name] = type(sys)(name)
sys.modules[name].__path__ = [inside]
module, _, factory = engine.partition(":")
from penstock.expr.script.inside.loop import serve
serve(getattr(__import__(f"penstock.expr.script.inside.{module}", fromlist=[factory]), factory)())
"""


class Recipe(Struct, frozen=True):
    """What a sandbox process is made of: the engine inside, and the folders its imports come from."""

    language: str
    engine: str
    folders: tuple[str, ...]


class Sandbox(asyncio.BufferedProtocol):
    """Use `Sandbox.start`. After an error it is dead: start another."""

    def __init__(self, recipe: Recipe, process: subprocess.Popen[bytes]) -> None:
        self._language = recipe.language
        self._process = process
        self._transport: asyncio.Transport | None = None
        self._buffer = memoryview(bytearray(_BUFFER))
        self._received = bytearray()
        self._answer: asyncio.Future[bytes] | None = None
        self._end: asyncio.Future[int] | None = None
        self._cause: EvaluationError | None = None

    @classmethod
    async def start(cls, recipe: Recipe) -> Sandbox:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with theirs:
            try:
                sandbox = cls(recipe, _spawn(recipe, theirs))
            except OSError as error:
                ours.close()
                raise SandboxUnavailable(language=recipe.language, reason=str(error)) from error
        ready = sandbox._expect()
        try:
            loop = asyncio.get_running_loop()
            sandbox._transport, _ = await loop.create_unix_connection(lambda: sandbox, sock=ours)
            await sandbox._wait(ready, _START_SECONDS)
        except EvaluationError as error:
            raise SandboxUnavailable(language=recipe.language, reason=error.message) from error
        except BaseException:
            sandbox.kill()
            raise
        return sandbox

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._end is None

    @property
    def gone(self) -> bool:
        return self._end is not None and self._end.done()

    async def ask(self, request: bytes, seconds: float) -> bytes:
        """Send a request and wait for the answer, at most so long."""
        if self._transport is None or not self.alive:
            raise SandboxUnavailable(language=self._language, reason="it has ended")
        answer = self._expect()
        self._transport.write(LENGTH.pack(len(request)) + request)
        return await self._wait(answer, seconds)

    def _expect(self) -> asyncio.Future[bytes]:
        self._answer = asyncio.get_running_loop().create_future()
        return self._answer

    async def _wait(self, answer: asyncio.Future[bytes], seconds: float) -> bytes:
        timer = asyncio.get_running_loop().call_later(seconds, self._time_out)
        try:
            return await answer
        except asyncio.CancelledError:
            self.kill()
            raise
        finally:
            timer.cancel()
            self._answer = None

    def _time_out(self) -> None:
        self.kill(LimitExceeded(language=self._language, limit="time"))

    def kill(self, cause: EvaluationError | None = None) -> None:
        self._cause = self._cause or cause
        self._process.kill()
        self._bury()

    async def ended(self) -> None:
        """Wait until the process is gone and reaped."""
        if self._end is not None:
            await asyncio.shield(self._end)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - the same one every time: a fresh one costs more than the answer
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._received += self._buffer[:nbytes]
        size = int.from_bytes(self._received[:4], "little")
        missing = 4 + size - len(self._received)
        if self._answer is None or missing < 0 or size > _MAX_FRAME:
            self.kill(EvaluationError(language=self._language, reason="the sandbox broke its protocol"))
        elif missing == 0 and not self._answer.done():
            frame = bytes(self._received[4:])
            self._received.clear()
            self._answer.set_result(frame)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the exit status says more
        self._bury()

    def _bury(self) -> None:
        """The process is dying: reap it off the loop, then tell whoever waits why it died."""
        if self._end is None:
            self._end = asyncio.get_running_loop().run_in_executor(None, self._process.wait)
            self._end.add_done_callback(self._report)

    def _report(self, end: asyncio.Future[int]) -> None:
        if self._transport is not None:
            self._transport.abort()
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(self._cause or self._diagnose(end.result()))

    def _diagnose(self, status: int) -> EvaluationError:
        if status == -signal.SIGXCPU:
            return LimitExceeded(language=self._language, limit="time")
        if status == -signal.SIGKILL:  # not by us: the kernel was short of memory
            return LimitExceeded(language=self._language, limit="memory")
        return EvaluationError(language=self._language, reason=f"the sandbox died (exit status {status})")


def _spawn(recipe: Recipe, stdin: socket.socket) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-I", "-S", "-c", _BOOT, recipe.engine, _INSIDE, *recipe.folders]
    return subprocess.Popen(  # noqa: S603 - our own interpreter and program
        command, stdin=stdin.fileno(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/", env={}
    )
