"""Waiting for a condition, never for a time."""

from __future__ import annotations

import asyncio
import time
from inspect import isawaitable
from typing import TYPE_CHECKING, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")

_INTERVAL = 0.01


@overload
async def eventually(condition: Callable[[], Awaitable[T]], timeout: float = ...) -> T: ...  # noqa: ASYNC109 - as below
@overload
async def eventually(condition: Callable[[], T], timeout: float = ...) -> T: ...  # noqa: ASYNC109 - as below
async def eventually(
    condition: Callable[[], T | Awaitable[T]],
    timeout: float = 10.0,  # noqa: ASYNC109 - names the condition that did not come true
) -> T:
    """The first truthy value of `condition`, which may be async; TimeoutError if there is none in time."""
    deadline = time.monotonic() + timeout
    while True:
        outcome = condition()
        value: T = await outcome if isawaitable(outcome) else outcome
        if value:
            return value
        _check(deadline, timeout, value)
        await asyncio.sleep(_INTERVAL)


def eventually_sync(condition: Callable[[], T], timeout: float = 10.0) -> T:
    """As `eventually`, for tests without an event loop."""
    deadline = time.monotonic() + timeout
    while not (value := condition()):
        _check(deadline, timeout, value)
        time.sleep(_INTERVAL)
    return value


def _check(deadline: float, timeout: float, value: object) -> None:
    if time.monotonic() > deadline:
        raise TimeoutError(f"still {value!r} after {timeout} s")
