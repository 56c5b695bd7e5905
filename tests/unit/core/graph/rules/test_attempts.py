"""Failure, retry and dead letters: what test_failure.py leaves open."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.graph.errors import UnknownTarget
from penstock.core.model import commands as c
from penstock.core.model import effects as f
from penstock.core.model import events as e
from penstock.core.model.time import SECOND
from tests.unit.core.graph.drive import Drive
from tests.unit.core.graph.rules.shapes import caused, failure, fanned, nodes_open, recorded, result, run_of, task, way

Json = Any


def one(**more: Json) -> Drive:
    return run_of(task("a", **more), ways=[])


def delays(run: Drive) -> list[float]:
    """Seconds before each next attempt, with every attempt failing."""
    found = []
    while run.open():
        run.fail("a", retryable=True)
        if run.outcome is None:
            due = recorded(run, e.TaskRetryScheduled)[-1].due
            found.append((due - run.now) / SECOND)
            run.advance(found[-1])
    return found


@pytest.mark.parametrize(
    ("retry", "expected"),
    [
        pytest.param({"max_attempts": 4, "backoff": "fixed", "delay": "2s"}, [2, 2, 2], id="fixed d"),
        pytest.param({"max_attempts": 4, "backoff": "linear", "delay": "2s"}, [2, 4, 6], id="linear d·k"),
        pytest.param(
            {"max_attempts": 4, "backoff": "exponential", "delay": "2s", "multiplier": 3}, [2, 6, 18], id="exponential"
        ),
        pytest.param(
            {"max_attempts": 4, "backoff": "exponential", "delay": "2s", "max_delay": "5s"}, [2, 4, 5], id="capped"
        ),
        pytest.param({"max_retries": 2, "delay": "1s"}, [1, 1], id="max_retries n is n+1 executions"),
        pytest.param(3, [0, 0], id="a bare n is n executions"),
        pytest.param({"delay": "1s"}, [], id="one execution by default"),
    ],
)
def test_attempts_and_the_delays_between_them(retry: Json, expected: list[float]) -> None:
    run = one(retry=retry)
    assert delays(run) == expected
    assert run.state.fault is not None
    assert run.state.fault.attempt == len(expected) + 1


def test_a_redelivery_is_the_same_attempt() -> None:
    run = one(retry=3)
    (first,) = run.open()
    assert run.open() == [first]
    run.answer(first, 1).answer(first, 1)
    assert (run.outcome, run.output) == ("completed", 1)


def test_a_worker_that_died_is_replaced_under_the_same_key() -> None:
    """Trap 12."""
    run = one(retry=2, timeout="10s", queue_timeout="0s")
    (first,) = run.open()
    run.advance(20)
    (second,) = run.open()
    assert (second.attempt, second.idempotency_key) == (2, first.idempotency_key)
    run.answer(first, "of the old attempt")
    assert run.kinds()[-1] == "result.ignored"
    assert run.complete("a", "new").output == "new"


def test_the_runs_own_timer_gives_the_worker_its_queue_time_and_a_margin() -> None:
    run = one(timeout="10s", queue_timeout="20s")
    assert run.open()[0].timeout == 10_000
    run.advance(30)
    assert run.outcome is None
    assert run.advance(30).code == "TASK_TIMEOUT"


def test_once_the_worker_reports_its_start_its_time_runs_from_there() -> None:
    run = one(timeout="10s", queue_timeout="1h").advance(1800)
    (found,) = run.open()
    run.send(c.TaskBegun(found.token, found.attempt, found.nonce)).advance(10)
    assert run.outcome is None
    assert run.advance(10).code == "TASK_TIMEOUT"


def test_each_attempt_has_its_whole_time() -> None:
    run = one(timeout="10s", queue_timeout="0s", retry=2).advance(9).fail("a", retryable=True).advance(9)
    assert [found.attempt for found in run.open()] == [2]
    assert run.outcome is None


def test_the_runs_deadline_ends_a_retry_that_is_still_waiting() -> None:
    run = run_of(task("a", retry={"max_attempts": 9, "delay": "1h"}), ways=[], limits={"deadline_s": 60})
    run.fail("a", retryable=True).advance(61)
    assert (run.outcome, run.code, run.status) == ("timed_out", "RUN_DEADLINE", "closed")
    assert run.state.timers == {}


def test_a_nodes_deadline_ends_a_retry_that_is_still_waiting_and_can_be_caught() -> None:
    node = task("a", retry={"max_attempts": 9, "delay": "1h"}, limits={"deadline_s": 60})
    run = run_of(node, "h", ways=[way("a", "h", on="error")]).fail("a", retryable=True).advance(61)
    assert nodes_open(run) == ["h"]
    assert {timer.purpose for timer in run.state.timers.values()} == set()


def test_the_hops_of_a_node_are_checked_when_it_is_dispatched() -> None:
    node = task("a", limits={"max_hops": 2}, loop={"max_iterations": 9})
    run = run_of(node, ways=[]).complete("a").complete("a")
    assert (run.outcome, run.code) == ("failed", "NODE_MAX_HOPS")


def test_the_park_of_one_token_leaves_the_others_alone() -> None:
    run = fanned(node=task("b", on_exhausted="park")).fail("b")
    assert nodes_open(run) == ["b", "b"]
    run.complete("b", 1).complete("b", 2)
    assert run.outcome is None
    (parked,) = run.state.tokens
    run.send(c.RetryParked(parked)).complete("b", 0)
    assert run.open("j")[0].input == [0, 1, 2]


def test_a_run_whose_last_token_is_parked_waits() -> None:
    run = one(on_exhausted="park").fail("a")
    assert (run.status, run.outcome) == ("waiting", None)


def test_a_parked_token_that_fails_again_is_parked_again() -> None:
    run = one(on_exhausted="park", retry=2).fail("a", retryable=True).advance(1).fail("a", retryable=True)
    run.send(c.RetryParked(1)).fail("a", retryable=True)
    assert recorded(run, e.TokenParked)[-1].token == 1
    assert len(recorded(run, e.IncidentRaised)) == 2


def test_a_dropped_token_may_be_caught() -> None:
    run = run_of(task("a", on_exhausted="park"), "h", ways=[way("a", "h", on="error")]).fail("a").send(c.DropParked(1))
    assert nodes_open(run) == ["h"]


def test_an_uncaught_failure_at_the_root_cancels_every_other_token() -> None:
    wait: dict[str, Json] = {"id": "w", "type": "wait", "wait": "1h"}
    run = run_of("a", {"id": "h", "type": "human"}, wait, task("p", on_exhausted="park"), ways=[]).fail("p").fail("a")
    assert (run.outcome, run.status, run.state.tokens) == ("failed", "closed", {})


@pytest.mark.parametrize("first", ["failed", "cancelled", "timed_out"])
@pytest.mark.parametrize("then", ["failed", "cancelled", "timed_out"])
def test_the_first_outcome_to_be_recorded_stands(first: str, then: str) -> None:
    run = run_of("a", "b", "c", ways=[], limits={"deadline_s": 10})
    for what in (first, then):
        if what == "failed":
            run.fail("a" if run.open("a") else "b")
        elif what == "cancelled":
            run.send(c.Cancel())
        else:
            run.advance(11)
    assert run.outcome == first
    assert len(recorded(run, e.RunEnding)) == 1


def test_a_result_that_comes_with_the_last_attempts_timeout_is_ignored() -> None:
    run = run_of(task("a", timeout="10s", queue_timeout="0s"), "h", ways=[way("a", "h", on="error")])
    (late,) = run.open()
    run.advance(60)
    assert nodes_open(run) == ["h"]
    assert nodes_open(run.send(result(late, "late"))) == ["h"]


@pytest.mark.parametrize("policy", ["fail", "park"])
def test_what_was_given_up_is_kept_as_a_dead_letter(policy: str) -> None:
    run = one(on_exhausted=policy)
    found = caused(run, failure(run.open()[0]))
    assert [(effect.node, effect.parked) for effect in found if isinstance(effect, f.KeepDeadLetter)] == [
        ("a", policy == "park")
    ]


def test_only_what_is_parked_can_be_retried() -> None:
    run = one().fail("a")
    with pytest.raises(UnknownTarget):
        run.send(c.RetryParked(1))
