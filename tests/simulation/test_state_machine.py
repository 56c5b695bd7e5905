"""The same world under Hypothesis: it looks for the schedule, and shrinks the one that it finds."""

from __future__ import annotations

from functools import cache

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from penstock.testkit.generate import Features, definition
from penstock.testkit.simulate import Case
from penstock.testkit.simulate.check import check
from penstock.testkit.simulate.run import calm
from penstock.testkit.simulate.steps import MOVES, go
from penstock.testkit.simulate.world import World

FAULTS = sorted(MOVES.keys() - {"go"})
NUMBERS = st.integers(0, 255)


@cache
def case(seed: int) -> Case:
    made = definition(seed, features=Features(children=True))
    return Case(made.definition, made.input, made.script)


class Simulation(RuleBasedStateMachine):
    world: World

    @initialize(seed=st.integers(0, 30))
    def begin(self, seed: int) -> None:
        self.world = World(case(seed))

    @rule(picks=st.lists(NUMBERS, min_size=1, max_size=12))
    def go_on(self, picks: list[int]) -> None:
        for which in picks:
            go(self.world, which)

    @rule(what=st.sampled_from(FAULTS), which=NUMBERS)
    def disturb(self, what: str, which: int) -> None:
        MOVES[what](self.world, which)

    @invariant()
    def the_chain_holds(self) -> None:
        world = self.world
        assert [entry.head.sequence for entry in world.log.entries] == list(range(1, len(world.log.entries) + 1))
        assert world.mark <= len(world.log.entries) + 1

    def teardown(self) -> None:
        if hasattr(self, "world"):
            calm(self.world)
            check(self.world)


TestSimulation = Simulation.TestCase
TestSimulation.settings = settings(
    max_examples=60,
    stateful_step_count=30,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
