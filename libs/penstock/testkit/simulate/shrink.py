"""Makes a failing schedule small: takes out chunks, then zeroes numbers, while it still fails in the same way."""

from __future__ import annotations

from penstock.testkit.simulate.case import Case
from penstock.testkit.simulate.run import replay
from penstock.testkit.simulate.schedule import Step


def shrink(case: Case, steps: list[Step], *, most: int = 2_000) -> list[Step]:
    """At most so many replays are tried."""
    failed = replay(case, steps).problem
    tries = iter(range(most))

    def fails(candidate: list[Step]) -> bool:
        problem = replay(case, candidate).problem if next(tries, None) is not None else None
        return failed is not None and problem is not None and problem.kind == failed.kind

    size = len(steps)
    while size:
        at = 0
        while at < len(steps):
            candidate = steps[:at] + steps[at + size :]
            if fails(candidate):
                steps = candidate
            else:
                at += size
        size //= 2
    for at, step in enumerate(steps):
        for simpler in (Step("go", 0), Step(step.what, 0)):
            candidate = [*steps[:at], simpler, *steps[at + 1 :]]
            if simpler != step and fails(candidate):
                steps = candidate
                break
    return steps
