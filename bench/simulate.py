"""The simulator: schedules of generated ten-node definitions per second and core, faults on, every check included.

Compiling a definition and predicting it is part of it, once for all of its schedules.
"""

from __future__ import annotations

import sys
import time

from bench.report import middle, report
from penstock.testkit.simulate.campaign import Plan, batches, calm_collector, run

ROUNDS = 6
DEFINITIONS = 12
EACH = 64
SIZES = 6, 7
"""Asked for; parts come whole, so that in the mean these have ten nodes."""


def main() -> bool:
    run(next(batches(Plan(EACH, seed=99))))  # what is made once is made
    calm_collector()
    rates, nodes = [], 0
    for number in range(ROUNDS):
        size = SIZES[number % len(SIZES)]
        plan = Plan(DEFINITIONS * EACH, DEFINITIONS * number, size, "some", each=EACH)
        start = time.perf_counter()
        done = [run(batch) for batch in batches(plan)]
        rates.append(plan.runs / (time.perf_counter() - start))
        nodes += sum(one.nodes for one in done)
        assert not any(one.failure for one in done)
    return report(
        "sim.schedules",
        middle(rates),
        "schedules/s",
        target=300,
        per="core",
        nodes=round(nodes / (ROUNDS * DEFINITIONS), 1),
        faults="some",
        schedules_per_definition=EACH,
        best=round(max(rates), 1),
    )


if __name__ == "__main__":
    sys.exit(not main())
