"""How much one Ale program may ask for, and the meter that counts it during a run."""

from __future__ import annotations

from msgspec import Struct

from penstock.expr.ale.faults import BudgetError


class Limits(Struct, frozen=True):
    """The defaults keep the worst program under the 50 ms that an event loop may stall."""

    source_bytes: int = 64 * 1024
    nesting: int = 200  # of brackets in the source, and of containers in a result
    steps: int = 100_000  # evaluated forms, and elements touched by builtins
    frames: int = 600  # Python frames under a run: what bounds recursion that is not in tail position
    text: int = 100_000  # characters in one string
    items: int = 50_000  # values in one sequence, one object, or the whole result
    bits: int = 1_024  # of one integer


DEFAULT = Limits()


class Meter:
    """What is left to one run. Every loop pays here before it works, so that a run always ends."""

    __slots__ = ("depth", "left", "limits")

    def __init__(self, limits: Limits, cost: int) -> None:
        self.limits = limits
        self.left = limits.steps - cost
        self.depth = 0

    def spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise BudgetError("steps")

    def copy(self, count: int) -> None:
        """Pay for a sequence of `count` values made at the speed of C."""
        if count > self.limits.items:
            raise BudgetError("sequence size")
        self.spend(1 + count // 8)

    def write(self, length: int) -> None:
        """Pay for a string of `length` characters."""
        if length > self.limits.text:
            raise BudgetError("text size")
        self.spend(1 + length // 32)

    def scan(self, length: int) -> None:
        """Pay for looking at `length` characters, which may be an argument's and of any size."""
        self.spend(1 + length // 64)

    def enter(self, frames: int) -> None:
        self.depth += frames
        if self.depth > self.limits.frames:
            raise BudgetError("recursion depth")
