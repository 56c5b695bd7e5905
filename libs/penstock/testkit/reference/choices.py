"""The choices that a schedule makes, and every way to make them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

_T = TypeVar("_T")


class Choices:
    """Answers from a prepared list, then always the first; remembers how many there were to choose from."""

    def __init__(self, prepared: list[int]) -> None:
        self.made = prepared
        self.sizes: list[int] = []

    def among(self, size: int) -> int:
        at = len(self.sizes)
        self.sizes.append(size)
        if at == len(self.made):
            self.made.append(0)
        return self.made[at]


def explore(attempt: Callable[[Choices], _T]) -> Iterator[_T]:
    """The results of all combinations of choices, the canonical one first."""
    prepared: list[int] | None = []
    while prepared is not None:
        choices = Choices(prepared)
        yield attempt(choices)
        prepared = _next(choices)


def _next(choices: Choices) -> list[int] | None:
    """Counts up, the last choice fastest."""
    for at in reversed(range(len(choices.sizes))):
        if choices.made[at] + 1 < choices.sizes[at]:
            return [*choices.made[:at], choices.made[at] + 1]
    return None
