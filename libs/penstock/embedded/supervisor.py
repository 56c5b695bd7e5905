"""Keeping children alive: started in order, started again when they die, stopped in reverse.

A child that dies is started again after a pause that doubles each time and is forgotten once the child has
been ready for a while. The supervisor never gives up; it reports every change instead.

    starting ──ready──▶ ready ──dies──▶ waiting ──pause over──▶ starting
        └───────────────dies──────────────▲          stop: any ──▶ stopped
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, Protocol

import msgspec

from penstock.core.errors import PenstockError
from penstock.embedded.output import pump
from penstock.embedded.program import Program

Status = Literal["starting", "ready", "waiting", "stopped"]
_POLL = 0.02


class Child(Protocol):
    @property
    def name(self) -> str: ...

    def program(self) -> Program:
        """How to start it; asked before every start."""

    def ready(self, pid: int) -> bool:
        """Whether the process does its work. Cheap: it is asked often until it is true."""


class Backoff(msgspec.Struct, frozen=True):
    first: float = 0.2
    ceiling: float = 10.0
    steady: float = 30.0
    """Ready for so long, a child's past failures are forgotten."""

    def pause(self, failures: int) -> float:
        return min(self.ceiling, self.first * 2.0 ** min(failures - 1, 32))


class Clock(Protocol):
    def now(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...


class MonotonicClock:
    def now(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Report(msgspec.Struct, frozen=True):
    """What is known of a child now."""

    name: str
    status: Status
    pid: int | None = None
    restarts: int = 0
    reason: str = ""
    """Why it is not running: its exit code, or the error that kept it from starting."""
    pause: float = 0.0


class Supervisor:
    """Use it on the main thread: the kernel ties a child's life to the thread that started it."""

    def __init__(
        self,
        children: Sequence[Child],
        *,
        on_line: Callable[[str, str], None],
        on_change: Callable[[Report], None],
        backoff: Backoff | None = None,
        clock: Clock | None = None,
        grace: float = 10.0,
        patience: float = 15.0,
    ) -> None:
        self._clock = clock or MonotonicClock()
        self._patience = patience
        # One thread per child, to wait for its end: portable, and independent of who else holds its output.
        self._waiters = ThreadPoolExecutor(max(1, len(children)), "supervisor")
        self._keepers = [
            _Keeper(child, on_line, on_change, backoff or Backoff(), self._clock, self._waiters, grace)
            for child in children
        ]

    @property
    def reports(self) -> list[Report]:
        return [keeper.report for keeper in self._keepers]

    async def start(self) -> None:
        """Each child waits for the one before to be ready, but not for ever: a broken one is reported."""
        for keeper in self._keepers:
            keeper.start()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._patience):
                    await keeper.first_ready.wait()

    async def stop(self) -> None:
        for keeper in reversed(self._keepers):
            await keeper.stop()
        self._waiters.shutdown()

    def hurry(self) -> None:
        """No more patience: kill what is still running."""
        for keeper in self._keepers:
            keeper.kill()


class _Keeper:
    """One child, over all its processes."""

    def __init__(
        self,
        child: Child,
        on_line: Callable[[str, str], None],
        on_change: Callable[[Report], None],
        backoff: Backoff,
        clock: Clock,
        waiters: ThreadPoolExecutor,
        grace: float,
    ) -> None:
        self.report = Report(child.name, "stopped")
        self.first_ready = asyncio.Event()
        self._child = child
        self._on_line = on_line
        self._on_change = on_change
        self._backoff = backoff
        self._clock = clock
        self._waiters = waiters
        self._grace = grace
        self._reason = ""
        self._stopping = asyncio.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._stop_signal = signal.SIGTERM
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """The first start fails aloud: a missing binary or bad data is for the caller to see."""
        self._spawn()
        self._task = asyncio.create_task(self._keep())

    async def stop(self) -> None:
        self._stopping.set()
        if self._task is None:
            return
        self._signal(self._stop_signal)
        done, _ = await asyncio.wait({self._task}, timeout=self._grace)
        if not done:
            self.kill()
        await self._task
        self._say("stopped")

    def kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def _keep(self) -> None:
        failures = 0
        while True:
            ready_for = await self._live()
            if self._stopping.is_set():
                return
            failures = 1 if ready_for >= self._backoff.steady else failures + 1
            while not await self._again(failures):
                if self._stopping.is_set():
                    return
                failures += 1

    async def _again(self, failures: int) -> bool:
        """Whether, after the pause, the child runs."""
        pause = self._backoff.pause(failures)
        self._say("waiting", reason=self._reason, pause=pause)
        await self._pause(pause)
        if self._stopping.is_set():
            return False
        try:
            self._spawn(self.report.restarts + 1)
        except (PenstockError, OSError) as error:
            self._reason = str(error)
            return False
        return True

    def _spawn(self, restarts: int = 0) -> None:
        program = self._child.program()
        self._stop_signal = program.stop_signal
        self._process = program.spawn(subprocess.PIPE)
        self._say("starting", pid=self._process.pid, restarts=restarts)

    async def _live(self) -> float:
        """From start to end of one process; how long it was ready."""
        process = self._process
        assert process is not None  # noqa: S101 - spawned just before
        assert process.stdout is not None  # noqa: S101 - a pipe, see _spawn
        ended = asyncio.get_running_loop().run_in_executor(self._waiters, process.wait)
        ready_since: float | None = None
        async with pump(process.stdout, lambda line: self._on_line(self._child.name, line)):
            while not ended.done() and ready_since is None:
                if self._child.ready(process.pid):
                    ready_since = self._clock.now()
                    self._say("ready", pid=process.pid)
                    self.first_ready.set()
                else:
                    await self._clock.sleep(_POLL)
            self._reason = _explain(await ended)
        return 0.0 if ready_since is None else self._clock.now() - ready_since

    async def _pause(self, seconds: float) -> None:
        """Over early when we stop."""
        sleep = asyncio.ensure_future(self._clock.sleep(seconds))
        stop = asyncio.ensure_future(self._stopping.wait())
        await asyncio.wait({sleep, stop}, return_when=asyncio.FIRST_COMPLETED)
        sleep.cancel()
        stop.cancel()

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)  # knows when the process is gone

    def _say(
        self,
        status: Status,
        *,
        pid: int | None = None,
        restarts: int | None = None,
        reason: str = "",
        pause: float = 0,
    ) -> None:
        known = self.report.restarts if restarts is None else restarts
        self.report = Report(self._child.name, status, pid, known, reason, pause)
        self._on_change(self.report)


def _explain(code: int) -> str:
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exited with code {code}"
