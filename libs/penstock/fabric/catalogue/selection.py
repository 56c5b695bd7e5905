"""Which versions of an aggregate a reader asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class Selection(NamedTuple):
    gt: int | None
    lte: int | None
    desc: bool
    limit: int | None

    def includes(self, version: int) -> bool:
        return (self.gt is None or version > self.gt) and (self.lte is None or version <= self.lte)

    def is_only(self, last: int) -> bool:
        """Whether the answer is the last version, whatever the others are."""
        return self.desc and self.limit == 1 and self.includes(last)

    def apply(self, ascending: Iterable[T], version: Callable[[T], int]) -> list[T]:
        chosen = [each for each in ascending if self.includes(version(each))]
        if self.desc:
            chosen.reverse()
        return chosen[: self.limit]
