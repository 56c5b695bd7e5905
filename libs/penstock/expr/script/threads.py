"""A few threads for blocking calls. Handing one over costs a third of what an executor takes for it."""

from __future__ import annotations

import asyncio
import atexit
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")


class Threads:
    """Started when needed, at most `size`. Whoever closes them waits until their work is done."""

    def __init__(self, size: int, name: str) -> None:
        self._size = size
        self._name = name
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._idle: deque[None] = deque()
        self._threads: list[Thread] = []
        # Left to itself at exit, a thread inside native code would abort the process on its way out.
        atexit.register(self.close)

    async def call(self, function: Callable[..., T], *arguments: Any) -> T:  # noqa: ANN401 - the function knows
        """What it returns or raises in one of the threads. A call that was given up before its turn never runs."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def job() -> None:
            if answer.cancelled():
                return
            try:
                settle = partial(answer.set_result, function(*arguments))
            except BaseException as error:  # noqa: BLE001 - it belongs to the caller
                settle = partial(answer.set_exception, error)
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(_settle, answer, settle)

        self._jobs.put(job)
        self._start_if_all_are_busy()
        return await answer

    def close(self) -> None:
        atexit.unregister(self.close)
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def _start_if_all_are_busy(self) -> None:
        try:
            self._idle.pop()
        except IndexError:
            if len(self._threads) < self._size:
                thread = Thread(target=self._work, name=f"{self._name}-{len(self._threads)}", daemon=True)
                self._threads.append(thread)
                thread.start()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            self._idle.append(None)


def _settle(answer: asyncio.Future[T], settle: Callable[[], None]) -> None:
    if not answer.done():  # or it was given up meanwhile
        settle()
