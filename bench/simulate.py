"""The simulator: schedules of generated ten-node definitions per second and core, faults on, every check included."""

from __future__ import annotations

import sys
import time

from bench.report import middle, report
from penstock.testkit.simulate.campaign import EACH, Plan, batches, calm_collector, run

ROUNDS = 5
DEFINITIONS = 25


def main() -> bool:
    run(next(batches(Plan(EACH, seed=99))))  # what is made once is made
    calm_collector()
    rates = []
    for number in range(ROUNDS):
        plan = Plan(DEFINITIONS * EACH, seed=DEFINITIONS * number, level="some")
        start = time.perf_counter()
        done = [run(batch) for batch in batches(plan)]
        rates.append(plan.runs / (time.perf_counter() - start))
        assert not any(one.failure for one in done)
    return report(
        "sim.schedules",
        middle(rates),
        "schedules/s",
        target=300,
        per="core",
        nodes=10,
        faults="some",
        schedules_per_definition=EACH,
        best=round(max(rates), 1),
    )


if __name__ == "__main__":
    sys.exit(not main())
