"""Doing many things at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import islice
from typing import TypeVar

from penstock.fabric.errors import FabricError, Unavailable

T = TypeVar("T")
W = TypeVar("W")


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


async def once_more(
    works: Sequence[W], outcomes: list[T | FabricError], attempt: Callable[[W], Awaitable[T]]
) -> list[T | FabricError]:
    """The outcomes, after a second attempt at those works for which the server was away: all at once, so that
    many wait no longer than one.
    """
    away = [place for place, outcome in enumerate(outcomes) if isinstance(outcome, Unavailable)]

    async def retry(place: int) -> None:
        try:
            outcomes[place] = await attempt(works[place])
        except FabricError as error:
            outcomes[place] = error

    if away:
        await asyncio.gather(*map(retry, away))
    return outcomes
