"""A schedule: which step comes next, as data. It can be saved, read, replayed exactly and shrunk."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from random import Random
from typing import Final, Literal, NamedTuple, TypeAlias

from penstock.testkit.simulate.steps import MOVES

Level: TypeAlias = Literal["none", "some", "many"]

SPREAD: Final = 256
"""Numbers that a step picks by."""


class Step(NamedTuple):
    """A name of `MOVES`, and the number that it picks by."""

    what: str
    which: int


_FAULTS: Final[dict[str, int]] = {
    "gather": 12,
    "fail": 8,
    "lose": 12,
    "repeat": 4,
    "behind": 6,
    "redeliver": 6,
    "resend": 6,
    "unsave": 2,
    "restart": 3,
    "crash": 8,
    "depose": 6,
    "linger": 20,
    "doubt": 2,
    "sleep": 6,
    "promote": 6,
    "early": 4,
    "refire": 4,
    "redo": 6,
    "obey": 8,
    "begin": 3,
    "signal": 2,
    "pause": 3,
}
"""How often each comes, relative to the others. `cancel` comes once in a while, see below."""

_SHARE: Final[dict[Level, int]] = {"none": 0, "some": 12, "many": 40}
"""Faults in a hundred steps."""

_CANCELLED: Final = 16
"""Of so many runs, one is cancelled."""


def steps(seed: int, level: Level) -> Iterator[Step]:
    """Without end; the same for the same arguments."""
    random = Random(seed)  # noqa: S311 - a repeatable schedule, not a secret
    calm = sum(_FAULTS.values()) * (100 - _SHARE[level]) / max(_SHARE[level], 1)
    names = ("go", *_FAULTS) if level != "none" else ("go",)
    weights = tuple(accumulate((calm, *_FAULTS.values()))) if level != "none" else None
    if seed % _CANCELLED == _CANCELLED - 1:
        yield from _cancelled(random)
    while True:
        for name in random.choices(names, cum_weights=weights, k=16):
            yield Step(name, random.getrandbits(8))


def _cancelled(random: Random) -> Iterator[Step]:
    """Somebody cancels the run early on."""
    yield from (Step("go", random.getrandbits(8)) for _ in range(random.randrange(60)))
    yield Step("cancel", random.getrandbits(8))


assert set(_FAULTS) < set(MOVES)  # noqa: S101 - a misspelled step would never come
