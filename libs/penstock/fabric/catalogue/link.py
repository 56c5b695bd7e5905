"""The bridge between a synchronous library and an asyncio connection: one thread with a loop of its own.

Both start with the first call and end with `close`, or when nobody holds the link any more: the library drops
the factories of its views without closing them.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar, cast

from penstock.fabric.catalogue.errors import CatalogueClosed, in_library_words
from penstock.fabric.errors import Unavailable
from penstock.fabric.jetstream.connection import Connection
from penstock.fabric.naming import Names
from penstock.kit.config import NatsConfig

T = TypeVar("T")
Operation = Callable[[Connection], Coroutine[Any, Any, T]]


class Link:
    def __init__(self, config: NatsConfig, names: Names, application: str) -> None:
        self.names = names
        self.application = application
        self._config = config
        self._starting = threading.RLock()  # the collector may close an application inside `start`
        self._worker: _Worker | None = None
        self._finalizer: Callable[[], object] | None = None
        self._closed = False

    def call(self, operation: Operation[T]) -> T:
        """Run `operation` on the connection and wait for it; errors come out as the library's."""
        # Every wait inside is bounded by `retry_for`; an operation may have more than one.
        seconds = 2 * self._config.retry_for + self._config.request_timeout
        with in_library_words():
            future = self.start(operation)
            try:
                return future.result(seconds)
            except TimeoutError as error:
                future.cancel()
                raise Unavailable(operation="the catalogue", seconds=seconds) from error
            except CancelledError as error:
                raise CatalogueClosed(application=self.application) from error

    def start(self, operation: Operation[T]) -> Future[T]:
        """Run `operation` in the background; cancelling the future cancels it."""
        with self._starting:
            if self._closed:
                raise CatalogueClosed(application=self.application)
            if self._worker is None:
                self._worker = _Worker(self._config, self.names, self.application)
                self._finalizer = weakref.finalize(self, self._worker.stop)
            return self._worker.submit(operation)

    def close(self) -> None:
        with self._starting:
            self._closed = True
            finalizer = self._finalizer
        if finalizer is not None:
            finalizer()


class _Worker:
    """The thread. Knows nothing of the link, so that it does not keep it alive."""

    def __init__(self, config: NatsConfig, names: Names, application: str) -> None:
        self._config = config
        self._names = names
        self._application = application
        self._loop = asyncio.new_event_loop()
        self._opening = asyncio.Lock()
        self._stopping = asyncio.Event()
        self._connection: Connection | None = None
        self._under_way: set[asyncio.Task[Any]] = set()
        self._thread = threading.Thread(target=self._run, name=f"catalogue {application}", daemon=True)
        self._thread.start()

    def submit(self, operation: Operation[T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(self._on_connection(operation), self._loop)

    def stop(self) -> None:
        with contextlib.suppress(RuntimeError):  # stopped before
            self._loop.call_soon_threadsafe(self._stopping.set)
        if threading.current_thread() is not self._thread:  # the collector may run anywhere, here too
            self._thread.join()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        await self._stopping.wait()
        under_way = tuple(self._under_way)
        for task in under_way:  # while there is a connection to clean up with
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        if self._connection is not None:
            with contextlib.suppress(OSError):  # the server may have gone first
                await self._connection.close()

    async def _on_connection(self, operation: Operation[T]) -> T:
        task = cast("asyncio.Task[T]", asyncio.current_task())
        self._under_way.add(task)
        try:
            async with self._opening:
                if self._connection is None:
                    self._connection = await self._open()
            return await operation(self._connection)
        finally:
            self._under_way.discard(task)

    async def _open(self) -> Connection:
        return await Connection.open(self._config, self._names, name=f"catalogue {self._application}")
