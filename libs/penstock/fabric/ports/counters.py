"""Counters: whole numbers that many writers increase, each increment counted once however often it is sent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Protocol

import msgspec

from penstock.fabric.errors import IllegalIncrement
from penstock.fabric.ports.keys import check_key

_DIGITS = 64
_BOUND = 10**_DIGITS


class CounterKey(msgspec.Struct, frozen=True, order=True):
    """Names a counter. Dots in `name` make a hierarchy: `runs.open`, `tokens.<run>`."""

    tenant: str
    name: str


class Increment(msgspec.Struct, frozen=True):
    """`operation` is what makes repeating it harmless: one and the same counter takes it once per window."""

    key: CounterKey
    amount: int
    operation: str


class Divergence(msgspec.Struct, frozen=True):
    """A counter that is not what its log says."""

    key: CounterKey
    expected: int
    actual: int

    @property
    def correction(self) -> int:
        """What to add to put it right."""
        return self.expected - self.actual


def check_increment(increment: Increment) -> None:
    amount = increment.amount
    if type(amount) is not int or not -_BOUND < amount < _BOUND:
        shown = repr(amount) if type(amount) is not int else f"a number of {amount.bit_length()} bits"
        raise IllegalIncrement(amount=shown, digits=_DIGITS)
    check_key(increment.operation, "an operation key")


def divergence(key: CounterKey, expected: int, actual: int) -> Divergence | None:
    return None if actual == expected else Divergence(key, expected, actual)


class Counters(Protocol):
    async def add(self, key: CounterKey, amount: int, *, operation: str) -> int:
        """Increase once per `operation`, and give the counter's value."""
        ...

    async def add_many(self, increments: Sequence[Increment]) -> list[int]:
        """All at once; the value of each counter after its increment. After an error, repeat all of them."""
        ...

    async def read(self, key: CounterKey) -> int:
        """Zero if nobody has counted yet."""
        ...

    async def read_many(self, keys: Iterable[CounterKey]) -> dict[CounterKey, int]:
        """Every key asked for; values may be a moment old."""
        ...

    def watch(self, key: CounterKey) -> AsyncIterator[int]:
        """The value, if there is one, and each one it takes from then on."""
        ...

    async def compare(self, key: CounterKey, expected: int) -> Divergence | None:
        """Hold a counter against its value recomputed from the log."""
        ...

    async def trim(self) -> int:
        """Forget increments older than the window in which they could be repeated; how many. Values stay."""
        ...
