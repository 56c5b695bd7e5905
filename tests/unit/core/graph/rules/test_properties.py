"""What holds for any definition and any schedule: merges, joins, lineage, retries."""

from __future__ import annotations

import random
from collections import Counter
from itertools import chain
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from penstock.core.graph.backoff import delay
from penstock.core.graph.merge import Contribution, merge
from penstock.core.model import commands as c
from penstock.core.model import events as e
from penstock.core.model.graph import MergeRule, RetryRule
from penstock.core.model.time import SECOND
from tests.unit.core.graph.drive import Drive
from tests.unit.core.graph.rules.blocks import Written, answer, blocks
from tests.unit.core.graph.rules.shapes import fanned, recorded, run_of, task

Json = Any

bounded = settings(
    derandomize=True,
    max_examples=40,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("abc", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=5,
)
OBJECTS = st.lists(st.dictionaries(st.sampled_from("wxyz"), JSON, max_size=3), max_size=6)


# -- merges


def merged(strategy: Any, outputs: list[Json]) -> Json:  # noqa: ANN401 - a literal
    return merge(MergeRule(strategy), [Contribution(index, str(index), output) for index, output in enumerate(outputs)])


@bounded
@given(outputs=st.lists(JSON, max_size=6))
def test_append_keeps_every_output_as_it_is(outputs: list[Json]) -> None:
    assert merged("append", outputs) == outputs
    assert merged("last_wins", outputs) == (outputs[-1] if outputs else None)
    assert list(merged("keyed_by_branch", outputs).values()) == outputs


@bounded
@given(outputs=st.lists(st.lists(JSON, max_size=3), max_size=6))
def test_concat_flattens_what_append_keeps_by_one_level(outputs: list[Json]) -> None:
    assert merged("concat", outputs) == list(chain.from_iterable(merged("append", outputs)))


@bounded
@given(outputs=OBJECTS, cut=st.integers(0, 6))
def test_merging_objects_is_associative_and_the_empty_one_changes_nothing(outputs: list[Json], cut: int) -> None:
    parts = [merged("merge_object", outputs[:cut]), merged("merge_object", outputs[cut:])]
    assert merged("merge_object", parts) == merged("merge_object", outputs)
    assert merged("merge_object", [*outputs, {}]) == merged("merge_object", outputs)
    assert merged("merge_object", outputs * 2) == merged("merge_object", outputs)


@bounded
@given(outputs=st.lists(JSON, min_size=1, max_size=6))
def test_only_objects_are_merged_as_objects(outputs: list[Json]) -> None:
    run = fanned(items=len(outputs), merge="merge_object")
    for output in outputs:
        run.complete("b", output)
    assert run.code == (None if all(isinstance(output, dict) for output in outputs) else "MERGE_TYPE")


@bounded
@given(
    outputs=OBJECTS,
    strategy=st.sampled_from(("append", "concat", "merge_object", "keyed_by_branch", "last_wins")),
    order=st.randoms(use_true_random=False),
)
def test_the_order_of_arrival_never_changes_a_merge(outputs: list[Json], strategy: str, order: random.Random) -> None:
    run = fanned(items=len(outputs), merge={"strategy": strategy, "target": "all"})
    waiting = list(zip(run.open("b"), outputs, strict=True))
    order.shuffle(waiting)
    for found, output in waiting:
        run.answer(found, output)
    expected = merged(strategy, outputs)
    assert repr(run.open("j")[0].input) == repr(expected)
    assert run.state.scopes[0].data == {"all": expected}


# -- joins


def finished(written: Written, schedule: random.Random, *, pauses: bool = False) -> Drive:
    """Whatever is open is answered in the schedule's order, with pauses in between if asked for."""
    run = Drive(written.definition()).start()
    for _ in range(2000):
        tasks = run.open()
        if not tasks:
            break
        found = schedule.choice(tasks)
        if pauses and schedule.random() < 0.3:
            run.send(c.Pause())
            answer(run, found, written.failing)
            if run.status == "paused":
                run.send(c.Resume())
        else:
            answer(run, found, written.failing)
    return run


def found_in(run: Drive) -> Json:
    """All that must not depend on the schedule."""
    root = run.state.scopes[0]
    faults = {
        name: [(found["index"], found["item"], found["error"]["code"]) for found in listed]
        for name, listed in root.errors.items()
    }
    return run.outcome, run.status, run.output, root.data, faults, Counter(run.visited())


SEEDS = st.integers(0, 2**32 - 1)


@bounded
@given(block=blocks(), seed=SEEDS)
def test_no_schedule_changes_the_output_the_state_or_the_paths(block: Any, seed: int) -> None:  # noqa: ANN401 - a block
    written = Written(block)
    first = finished(written, random.Random(0))  # noqa: S311 - a schedule, no secret
    assert (first.outcome, first.status) == ("completed", "closed")
    assert found_in(finished(written, random.Random(seed))) == found_in(first)  # noqa: S311 - a schedule, no secret


@bounded
@given(block=blocks(fails=True, forks=False), seed=SEEDS)
def test_no_schedule_changes_what_settles(block: Any, seed: int) -> None:  # noqa: ANN401 - a block
    written = Written(block)
    first = finished(written, random.Random(0))  # noqa: S311 - a schedule, no secret
    assert first.status == "closed"
    assert found_in(finished(written, random.Random(seed))) == found_in(first)  # noqa: S311 - a schedule, no secret


@bounded
@given(block=blocks(), seed=SEEDS)
def test_no_pause_changes_the_output_the_state_or_the_paths(block: Any, seed: int) -> None:  # noqa: ANN401 - a block
    written = Written(block)
    first = finished(written, random.Random(0))  # noqa: S311 - a schedule, no secret
    assert found_in(finished(written, random.Random(seed), pauses=True)) == found_in(first)  # noqa: S311 - a schedule, no secret


@bounded
@given(block=blocks(fails=True, some=True), seed=SEEDS)
def test_every_run_comes_to_an_end(block: Any, seed: int) -> None:  # noqa: ANN401 - a block
    run = finished(Written(block), random.Random(seed))  # noqa: S311 - a schedule, no secret
    assert run.outcome is not None
    assert (run.status, run.state.tokens, run.state.groups, run.state.joins) == ("closed", {}, {}, {})


@bounded
@given(block=blocks(fails=True, some=True), seed=SEEDS, after=st.integers(0, 12))
def test_every_cancelled_run_comes_to_an_end(block: Any, seed: int, after: int) -> None:  # noqa: ANN401 - a block
    written, schedule = Written(block), random.Random(seed)  # noqa: S311 - a schedule, no secret
    run = Drive(written.definition()).start()
    for _ in range(after):
        if tasks := run.open():
            answer(run, schedule.choice(tasks), written.failing)
    if run.status != "closed":
        known = run.outcome
        run.send(c.Cancel())
        assert run.outcome == (known or "cancelled")
        run.advance(31)
    assert (run.status, run.state.tokens, run.state.groups, run.state.timers) == ("closed", {}, {}, {})


# -- lineage


class Lineage:
    """Every token that a log tells of, with where it came from."""

    def __init__(self, run: Drive) -> None:
        self.scope: dict[int, int] = {}
        self.hop: dict[int, int] = {}
        self.node: dict[int, str] = {}
        self.gone: Counter[int] = Counter()
        self.parent_scope = {0: -1}
        self.group_scope: dict[int, int] = {}
        self.group_of: dict[int, int] = {}
        self.furthest: dict[int, int] = {}
        """By group: the largest hop that arrived."""
        for event, _ in run.log:
            self._read(event)

    def _read(self, event: e.Event) -> None:
        match event:
            case e.TokenCreated():
                self._created(event)
            case e.GroupOpened():
                self._opened(event)
            case e.JoinCompleted() | e.JoinFailed():
                self._add(event.token, event.node, self.group_scope[event.group])
                self.hop[event.token] = 1 + self.furthest[event.group]
            case e.JoinMet():
                assert len({self.scope[number] for number in event.arrivals}) == 1
                assert {self.node[number] for number in event.arrivals} == {event.node}
                self._add(event.token, event.node, self.scope[event.arrivals[0]])
                self.hop[event.token] = 1 + max(self.hop[number] for number in event.arrivals)
                self.gone.update(event.arrivals)
            case e.BranchArrived():
                group = self.group_of[self.scope[event.token]]
                self.furthest[group] = max(self.furthest[group], self.hop[event.token])
                self.gone[event.token] += 1
            case e.TokenConsumed() | e.TokenCancelled():
                self.gone[event.token] += 1

    def _add(self, number: int, node: str, scope: int) -> None:
        assert number not in self.scope, "a token is created once"
        assert scope in self.parent_scope, "its scope was opened"
        self.scope[number], self.node[number] = scope, node

    def _created(self, event: e.TokenCreated) -> None:
        self._add(event.token, event.node, event.scope)
        self.hop[event.token] = event.hop
        if event.parent:
            assert event.hop == self.hop[event.parent] + 1
            assert event.scope == self.scope[event.parent], "only a group opens scopes"
            assert not self.gone[event.parent], "its parent is consumed after it was created"
        else:
            assert (event.hop, event.scope) == (1, 0)

    def _opened(self, event: e.GroupOpened) -> None:
        assert event.group not in self.group_scope, "an instance is new on every visit"
        self.group_scope[event.group] = self.scope[event.token]
        self.furthest[event.group] = self.hop[event.token]
        index = 0
        for branches in event.branches:
            for _ in range(branches.count):
                scope = event.first_scope + index
                assert scope not in self.parent_scope
                self.parent_scope[scope], self.group_of[scope] = self.scope[event.token], event.group
                self._add(event.first_token + index, branches.to, scope)
                self.hop[event.first_token + index] = self.hop[event.token] + 1
                index += 1


@bounded
@given(block=blocks(), seed=SEEDS)
def test_every_token_comes_from_another_and_is_consumed_once(block: Any, seed: int) -> None:  # noqa: ANN401 - a block
    run = finished(Written(block), random.Random(seed))  # noqa: S311 - a schedule, no secret
    lineage = Lineage(run)
    assert set(lineage.gone) == set(lineage.scope)
    assert set(lineage.gone.values()) == {1}
    assert run.state.emitted == run.state.consumed


# -- retries

RULES = st.builds(
    RetryRule,
    max_attempts=st.integers(1, 6),
    backoff=st.sampled_from(["fixed", "linear", "exponential"]),
    delay=st.integers(0, 5000),
    multiplier=st.sampled_from([1.0, 1.5, 2.0, 3.0]),
    max_delay=st.none() | st.integers(0, 20_000),
    jitter=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
)


def formula(rule: RetryRule, attempt: int) -> float:
    """Of graph-rules.md: fixed d, linear d·k, exponential d·multiplier^(k-1), capped."""
    grown = {"fixed": 1, "linear": attempt, "exponential": rule.multiplier ** (attempt - 1)}[rule.backoff]
    return min(rule.delay * grown, float("inf") if rule.max_delay is None else rule.max_delay)


@bounded
@given(rule=RULES, number=st.integers(1, 10**6), attempt=st.integers(1, 6))
def test_every_delay_is_that_of_the_formula_within_its_jitter(rule: RetryRule, number: int, attempt: int) -> None:
    found = delay(rule, number, attempt)
    exact = formula(rule, attempt)
    assert exact * (1 - rule.jitter) - 1e-6 <= found <= exact * (1 + rule.jitter) + 1e-6
    assert found == delay(rule, number, attempt)


@bounded
@given(rule=RULES, failures=st.integers(0, 8))
def test_attempts_are_bounded_and_come_when_they_are_due(rule: RetryRule, failures: int) -> None:
    written: dict[str, Json] = {"max_attempts": rule.max_attempts, "backoff": rule.backoff, "delay_ms": rule.delay}
    written |= {"multiplier": rule.multiplier} | ({} if rule.max_delay is None else {"max_delay_ms": rule.max_delay})
    run = run_of(task("a", retry=written), ways=[])
    made = 0
    while tasks := run.open():
        made += 1
        assert tasks[0].attempt == made
        if made > failures:
            run.answer(tasks[0], "fine")
            break
        run.fail("a", retryable=True)
        if made < rule.max_attempts:
            due = recorded(run, e.TaskRetryScheduled)[-1].due
            assert due - run.now == pytest.approx(formula(rule, made) * SECOND / 1000, abs=1)
            run.advance((due - run.now) / SECOND)
    assert made == min(failures + 1, rule.max_attempts)
    assert run.outcome == ("completed" if failures < rule.max_attempts else "failed")
