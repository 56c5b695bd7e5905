"""Many schedules of many generated definitions, over all cores."""

from __future__ import annotations

import gc
import multiprocessing
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec.structs import replace

from penstock.testkit.generate import Features, definition
from penstock.testkit.simulate.case import Case
from penstock.testkit.simulate.run import simulate
from penstock.testkit.simulate.saved import Saved
from penstock.testkit.simulate.schedule import Level
from penstock.testkit.simulate.shrink import shrink
from penstock.testkit.simulate.tighten import tighten


class Plan(msgspec.Struct, frozen=True):
    runs: int
    seed: int = 0
    size: int = 10
    level: Level = "some"
    folder: str = "."
    """Where failures are saved."""
    each: int = 16
    """Schedules of one definition: it is compiled and predicted once."""


class Batch(msgspec.Struct, frozen=True):
    """The schedules of one definition."""

    plan: Plan
    seed: int
    runs: int


class Failure(msgspec.Struct, frozen=True):
    seed: int
    schedule: int
    problem: str
    steps: int
    path: str


class Done(msgspec.Struct, frozen=True):
    runs: int
    nodes: int
    predicted: bool
    """Else only what must be true of any run was checked."""
    failure: Failure | None


def batches(plan: Plan) -> Iterator[Batch]:
    for number, first in enumerate(range(0, plan.runs, plan.each)):
        yield Batch(plan, plan.seed + number, min(plan.each, plan.runs - first))


def run(batch: Batch) -> Done:
    """Up to its first failure."""
    plan = batch.plan
    # Every other definition has children, every third limits; a race leaves nothing to predict, so there are few.
    features = Features(children=batch.seed % 2 == 1, races=batch.seed % 20 == 0)
    made = definition(batch.seed, plan.size, features)
    if batch.seed % 3 == 0:
        made = replace(made, definition=tighten(made.definition, batch.seed))
    case = Case(made.definition, made.input, made.script)
    predicted, nodes = not case.prediction.open, len(made.definition["nodes"])
    for schedule in range(batch.runs):
        result = simulate(case, schedule, plan.level)
        if result.problem is not None:
            steps = shrink(case, result.steps)
            path = Path(plan.folder) / f"schedule-{batch.seed}-{schedule}.json"
            Saved(str(result.problem), made.definition, made.input, made.script, steps).write(path)
            failure = Failure(batch.seed, schedule, str(result.problem), len(steps), str(path))
            return Done(schedule + 1, nodes, predicted, failure)
    return Done(batch.runs, nodes, predicted, None)


def campaign(plan: Plan, processes: int) -> Iterator[Done]:
    """In any order."""
    if processes == 1:
        yield from map(run, batches(plan))
        return
    # Spawned: who forks a process with threads inherits their locks.
    with multiprocessing.get_context("spawn").Pool(processes, calm_collector) as pool:
        yield from pool.imap_unordered(run, batches(plan), chunksize=4)


def calm_collector() -> None:
    """A schedule leaves few cycles: collecting them rarely saves a fifth of the time."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
