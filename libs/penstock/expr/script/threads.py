"""A few threads for blocking calls, at a third of what an executor's hand-over costs."""

from __future__ import annotations

import asyncio
import atexit
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")


class _Job(Struct, Generic[T]):
    steps: Callable[[], Iterator[T]]
    answer: asyncio.Future[T]
    loop: asyncio.AbstractEventLoop


class Threads:
    """Started when needed, `size` at most. Close them off the loop: they end when their work is done."""

    def __init__(self, size: int, name: str) -> None:
        self._size = size
        self._name = name
        self._jobs: SimpleQueue[_Job[object] | None] = SimpleQueue()
        self._idle: deque[None] = deque()
        self._threads: list[Thread] = []
        # Nobody is waited for at exit who is still inside a native call: that would abort the process.
        atexit.register(self.close)

    async def first(self, steps: Callable[[], Iterator[T]]) -> T:
        """The first value of `steps`, run in a thread. What follows it is done after the caller has it."""
