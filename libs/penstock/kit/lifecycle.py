"""The life of a process, the same for every service.

    starting ──► serving ──► draining ──► closed

A service starts what it needs in order. On SIGTERM, SIGINT or the failure of a background task it drains: it
is no longer ready, takes no new work, and finishes what is in flight within `service.grace`. Then background
tasks end, and everything that was entered is flushed and closed in reverse order. A second signal ends the
process at once.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from importlib import metadata
from typing import Any, TypeVar

import structlog

from penstock.kit import config as configuration
from penstock.kit import http, logging, metrics
from penstock.kit.clock import now
from penstock.kit.config import Config
from penstock.kit.errors import ConfigError
from penstock.kit.health import Health
from penstock.kit.ids import new_id

STOPPED, FAILED, MISCONFIGURED, FORCED = 0, 1, 2, 128
"""Exit codes; a forced exit adds the number of its signal."""

CLOSE_WITHIN = 10.0
_NO_BODY = 1024

T = TypeVar("T")
Hook = Callable[[], Awaitable[object]]

log = structlog.get_logger()


class Service:
    """One process in one role: what it was started with, and the order in which it starts and stops."""

    def __init__(self, role: str, config: Config) -> None:
        self.role = role
        self.config = config
        self.instance = new_id()
        self.version = metadata.version("penstock")
        self.started_at = now()
        self.health = Health()
        self._stack = AsyncExitStack()
        self._drains: list[Hook] = []
        self._tasks: list[asyncio.Task[Any]] = []
        self._stopping = asyncio.Event()
        self._exit_code = STOPPED

    async def enter(self, resource: AbstractAsyncContextManager[T]) -> T:
        """Start something that is closed, after draining, in reverse order."""
        return await self._stack.enter_async_context(resource)

    def on_drain(self, hook: Hook) -> None:
        """`hook` stops taking work at once, and returns when what it had is finished. All run together."""
        self._drains.append(hook)

    def spawn(self, work: Coroutine[Any, Any, object], name: str) -> asyncio.Task[Any]:
        """Run in the background until the service has drained. If it fails, the service goes down."""
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(self._on_done)
        self._tasks.append(task)
        return task

    def stop(self) -> None:
        """Begin to drain. From this moment the service is not ready."""
        self.health.phase = "draining"
        self._stopping.set()

    async def run(self, start: Callable[[Service], Awaitable[None]]) -> int:
        """Start, serve until stopped, drain, close; the exit code."""
        log.info("service.starting", version=self.version)
        self._catch_signals()
        starting = self.spawn(self._start(start), "start")
        await self._stopping.wait()
        await self._end([starting])
        await self._drain()
        await self._end(self._tasks)
        await self._close()
        log.info("service.stopped", exit_code=self._exit_code)
        return self._exit_code

    def _catch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_signal, number)
            self._stack.callback(loop.remove_signal_handler, number)

    async def _start(self, start: Callable[[Service], Awaitable[None]]) -> None:
        metrics.build.info({"version": self.version, "role": self.role})
        telemetry = self.config.telemetry
        routes = [*http.health_routes(self.health), http.metrics_route(self.health)]
        server = await self.enter(http.serving(routes, telemetry.host, telemetry.port, body_max=_NO_BODY, grace=1.0))
        log.info("telemetry.listening", telemetry_port=server.port)
        await start(self)
        if not self._stopping.is_set():
            self.health.phase = "serving"
            log.info("service.serving")

    def _on_signal(self, number: signal.Signals) -> None:
        if self._stopping.is_set():
            log.warning("service.forced", signal=number.name)
            os._exit(FORCED + number)
        log.info("service.signalled", signal=number.name)
        self.stop()

    def _on_done(self, task: asyncio.Task[Any]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(f"task {task.get_name()}", error)
            self.stop()

    async def _drain(self) -> None:
        grace = self.config.service.grace
        log.info("service.draining", grace=grace)
        try:
            async with asyncio.timeout(grace):
                results = await asyncio.gather(*(hook() for hook in self._drains), return_exceptions=True)
        except TimeoutError:
            log.error("service.unfinished", grace=grace)  # noqa: TRY400 - where it waited says nothing
            self._exit_code = FAILED
            return
        for result in results:
            if isinstance(result, BaseException):
                self._fail("drain", result)

    async def _end(self, tasks: list[asyncio.Task[Any]]) -> None:
        for task in tasks:
            task.cancel()
        _, stuck = await asyncio.wait(tasks, timeout=CLOSE_WITHIN)
        for task in stuck:
            self._fail(f"task {task.get_name()}", TimeoutError())

    async def _close(self) -> None:
        try:
            async with asyncio.timeout(CLOSE_WITHIN):
                await self._stack.aclose()
        except Exception as error:  # noqa: BLE001 - whatever it was, the process ends and says so
            self._fail("close", error)

    def _fail(self, step: str, error: BaseException) -> None:
        log.error("service.failed", step=step, exc_info=error)
        self._exit_code = FAILED


def main(role: str, start: Callable[[Service], Awaitable[None]]) -> int:
    """What every `__main__` calls: configuration, logging, event loop, life cycle; the exit code."""
    try:
        config = configuration.load(os.environ).config
    except ConfigError as error:
        print(f"penstock {role}: {error}\n{error.hint}".rstrip(), file=sys.stderr)  # noqa: T201 - no log yet
        return MISCONFIGURED

    async def run() -> int:
        service = Service(role, config)
        logging.setup(config.log, role=role, instance=service.instance)
        return await service.run(start)

    with asyncio.Runner(loop_factory=_fast_loop()) as runner:
        return runner.run(run())


def _fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415 - not on every platform
    except ImportError:
        return None
    return uvloop.new_event_loop
