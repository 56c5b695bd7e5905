"""Doing many things at once, a bounded number at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


async def together(works: Iterable[Awaitable[T]], at_once: int) -> list[T]:
    """The outcomes, in order. An error is raised when nothing is under way any more, and what was not yet
    taken from `works` is not begun.
    """
    waiting = iter(works)
    done: list[T] = []
    while window := list(islice(waiting, at_once)):
        for outcome in await asyncio.gather(*window, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome
            done.append(outcome)
    return done
