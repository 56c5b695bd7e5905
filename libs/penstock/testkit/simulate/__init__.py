"""A simulator that tries to break everything: the real loop and the real decider, and all around them in memory.

    simulate(Case(definition, input, script), seed, "many") -> Result
    replay(case, steps) -> Result

A schedule picks what happens next: answers, losses, repetitions, crashes, former owners, early and late timers. It is
data. After it, the run goes on without faults to its end, and everything that must be true is checked.
"""

from penstock.testkit.simulate.case import Case, WatchedDecider
from penstock.testkit.simulate.problem import Problem
from penstock.testkit.simulate.run import Result, replay, simulate
from penstock.testkit.simulate.schedule import Level, Step, steps

__all__ = ["Case", "Level", "Problem", "Result", "Step", "WatchedDecider", "replay", "simulate", "steps"]
