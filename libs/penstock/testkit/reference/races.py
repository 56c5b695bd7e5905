"""Which data a schedule could change: accesses to shared data that no chain of tokens orders.

Every visit is an event with a bit; what surely happened before it is a mask of bits. Tokens hand their past on, joins
unite pasts. If every two conflicting accesses are ordered in one schedule, they are ordered in all, and all schedules
give the same values.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

Location: TypeAlias = tuple[str, ...]
Past: TypeAlias = int

EVERYTHING: Final[Past] = -1
"""The past of whoever reads when the run is over."""


class _Access(NamedTuple):
    location: Location
    event: int


class Races:
    """Found in one run; `found` says where, once each."""

    def __init__(self) -> None:
        self.found: dict[str, None] = {}

    def report(self, what: str) -> None:
        self.found[what] = None


class Accesses:
    """Reads and writes of one scope's data."""

    def __init__(self, races: Races) -> None:
        self._races = races
        self._reads: list[_Access] = []
        self._writes: list[_Access] = []
        self._unsure: list[Location] = []
        """Written by two that nothing orders, but not read yet."""

    def read(self, location: Location, event: int, past: Past) -> None:
        self._check(self._writes, location, past, "is read while it may be written")
        if any(_overlap(location, unsure) for unsure in self._unsure):
            self._races.report(f"{'.'.join(location)} is read, and who wrote it last depends on the schedule")
        self._reads.append(_Access(location, event))

    def write(self, location: Location, event: int, past: Past, *, seen: bool) -> None:
        """`seen`: the value shows in the result even if no expression reads it."""
        self._check(self._reads, location, past, "is written while it may be read")
        if seen:
            self._check(self._writes, location, past, "is written by two that nothing orders")
        elif any(not past >> event_ & 1 and _overlap(location, at) for at, event_ in self._writes):
            self._unsure.append(location)
        self._writes.append(_Access(location, event))

    def written_outside(self, root: str, certain: Past) -> bool:
        """Someone wrote there who is not certain to have run."""
        return any(at[0] == root and not certain >> event & 1 for at, event in self._writes)

    def _check(self, others: list[_Access], location: Location, past: Past, what: str) -> None:
        for at, event in others:
            if not past >> event & 1 and _overlap(location, at):
                self._races.report(f"{'.'.join(location)} {what}")


def _overlap(one: Location, other: Location) -> bool:
    return all(a == b for a, b in zip(one, other, strict=False))
