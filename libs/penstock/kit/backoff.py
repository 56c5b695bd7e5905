"""Waiting for something that is away: try again, ever more slowly, until it is back."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from penstock.core.errors import PenstockError

FIRST, LONGEST = 0.1, 5.0

T = TypeVar("T")

log = structlog.get_logger()


async def until_available(attempt: Callable[[], Awaitable[T]], step: str) -> T:
    """Repeat `attempt` for as long as its errors are retryable; any other error is the caller's."""
    number, delay = 1, FIRST
    while True:
        try:
            return await attempt()
        except PenstockError as error:
            if not error.retryable:
                raise
            log.warning("backoff.waiting", step=step, attempt=number, delay=delay, exc_info=error)
        # Spread, so that processes that lost the same server do not all come back in the same instant.
        await asyncio.sleep(delay * random.uniform(0.5, 1.0))  # noqa: S311 - no secret depends on it
        number, delay = number + 1, min(delay * 2, LONGEST)
