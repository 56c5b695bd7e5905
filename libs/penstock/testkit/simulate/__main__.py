"""`python -m penstock.testkit.simulate`: try to break it. `penstock simulate --schedule` replays what broke it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from typing import get_args

from penstock.testkit.simulate.campaign import Done, Failure, Plan, campaign
from penstock.testkit.simulate.schedule import Level


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m penstock.testkit.simulate", description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000, help="how many schedules")
    parser.add_argument("--seed", type=int, default=0, help="of the first definition")
    parser.add_argument("--size", type=int, default=10, help="nodes of a definition, about")
    parser.add_argument("--faults", choices=get_args(Level), default="some")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--folder", default=".", help="where failing schedules are saved")
    given = parser.parse_args(arguments)
    plan = Plan(given.runs, given.seed, given.size, given.faults, given.folder)
    return _campaign(plan, given.processes)


def _campaign(plan: Plan, processes: int) -> int:
    runs = predicted = 0
    failures: list[Failure] = []
    for done in _shown(campaign(plan, processes), plan.runs):
        runs += done.runs
        predicted += done.runs * done.predicted
        if done.failure is not None:
            failures.append(done.failure)
            _tell(done.failure, plan)
    _say(f"{runs} schedules, {predicted} of them predicted, faults: {plan.level}, {len(failures)} definitions failed")
    return int(bool(failures))


def _tell(failure: Failure, plan: Plan) -> None:
    _say(f"seed {failure.seed}, schedule {failure.schedule}, size {plan.size}, faults {plan.level}: {failure.problem}")
    _say(f"  shrunk to {failure.steps} steps: penstock simulate --schedule {failure.path}")


def _shown(found: Iterator[Done], total: int) -> Iterable[Done]:
    """With a bar, if somebody is looking."""
    if not sys.stderr.isatty():
        yield from found
        return
    from rich.console import Console  # noqa: PLC0415 - of no use to a pipe
    from rich.progress import Progress  # noqa: PLC0415 - as above

    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("schedules", total=total)
        for done in found:
            progress.advance(task, done.runs)
            yield done


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
