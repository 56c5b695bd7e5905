"""Runs one schedule: step by step, then calmly to the end, and looks whether all is as it must be."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final

import msgspec

from penstock.testkit.simulate.case import Case
from penstock.testkit.simulate.check import check
from penstock.testkit.simulate.problem import Problem
from penstock.testkit.simulate.schedule import Level, Step, steps
from penstock.testkit.simulate.steps import MOVES, go
from penstock.testkit.simulate.world import World

MOST_STEPS: Final = 400
"""After so many, there are no more faults."""
MOST_CALM: Final = 20_000
"""Steps in which any run must have come to its end."""


class Result(msgspec.Struct, frozen=True):
    steps: list[Step]
    """Those that had anything to do; then it went on calmly."""
    problem: Problem | None
    world: World


def simulate(case: Case, seed: int, level: Level = "some") -> Result:
    return replay(case, islice(steps(seed, level), MOST_STEPS))


def replay(case: Case, schedule: Iterable[Step]) -> Result:
    taken: list[Step] = []
    world = World(case)
    try:
        _play(world, schedule, taken)
        calm(world)
        check(world)
    except Problem as problem:
        return Result(taken, problem, world)
    except Exception as error:  # noqa: BLE001 - whatever is raised in there is a finding
        return Result(taken, Problem(f"raised {type(error).__name__}", str(error)), world)
    return Result(taken, None, world)


def _play(world: World, schedule: Iterable[Step], taken: list[Step]) -> None:
    for step in schedule:
        taken.append(step)
        if not MOVES[step.what](world, step.which):
            taken.pop()
            if step.what == "go":
                return


def calm(world: World) -> None:
    """Former owners have learned that they are; nothing fails any more."""
    world.formers.clear()
    for _ in range(MOST_CALM):
        if not go(world, 0):
            return
    raise Problem("endless", f"still going on after {MOST_CALM} steps")
