"""Failure, retry and time limits: graph-rules, "Failure, retry, dead letters"."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.graph.backoff import delay
from penstock.core.graph.errors import UnknownTarget
from penstock.core.model import commands as c
from penstock.core.model import events as e
from penstock.core.model.graph import RetryRule
from tests.unit.core.graph.drive import Drive, graph

Json = Any


def task(name: str, **more: Json) -> dict[str, Json]:
    return {"id": name, "type": "task", "queue": "q", **more}


def one(**more: Json) -> Drive:
    return Drive(graph(task("a", **more))).start()


def test_without_a_retry_policy_a_failure_is_final() -> None:
    run = one().fail("a", retryable=True)
    assert (run.outcome, run.code, run.status) == ("failed", "BOOM", "closed")


def test_a_retryable_failure_is_tried_again_after_its_delay() -> None:
    run = one(retry={"max_attempts": 3, "backoff_ms": 1000}).fail("a", retryable=True)
    assert run.open() == []
    run.advance(0.9)
    assert run.open() == []
    run.advance(0.1)
    assert [task.attempt for task in run.open()] == [2]
    run.complete("a", "fine")
    assert (run.outcome, run.output) == ("completed", "fine")


def test_a_retry_keeps_its_idempotency_key() -> None:
    run = one(retry={"max_attempts": 2, "backoff_ms": 10})
    first = run.open()[0]
    second = run.fail("a", retryable=True).advance(1).open()[0]
    assert (second.idempotency_key, second.attempt) == (first.idempotency_key, 2)
    assert second.nonce != first.nonce


def test_a_permanent_failure_is_not_tried_again() -> None:
    run = one(retry={"max_attempts": 5}).fail("a", retryable=False)
    assert run.outcome == "failed"


def test_attempts_run_out() -> None:
    run = one(retry={"max_attempts": 2}).fail("a", retryable=True).advance(1).fail("a", retryable=True)
    assert (run.outcome, run.state.fault) == ("failed", e.Fault("BOOM", "it broke", "a", 2, retryable=True))


@pytest.mark.parametrize(
    ("rule", "delays"),
    [
        (RetryRule(9, "fixed", 100), [100, 100, 100, 100]),
        (RetryRule(9, "linear", 100), [100, 200, 300, 400]),
        (RetryRule(9, "exponential", 100), [100, 200, 400, 800]),
        (RetryRule(9, "exponential", 100, 3.0, 500), [100, 300, 500, 500]),
    ],
    ids=["fixed", "linear", "exponential", "capped"],
)
def test_the_delay_before_the_next_attempt(rule: RetryRule, delays: list[float]) -> None:
    assert [delay(rule, 1, k) for k in range(1, 5)] == delays


def test_jitter_stays_within_its_share_and_is_the_same_on_replay() -> None:
    rule = RetryRule(9, "fixed", 1000, jitter=0.2)
    delays = [delay(rule, number, 1) for number in range(200)]
    assert delays == [delay(rule, number, 1) for number in range(200)]
    assert 800 <= min(delays) < 850
    assert 1150 < max(delays) <= 1200


@pytest.mark.parametrize(
    "change", [{"attempt": 7}, {"nonce": "forged"}, {"token": 99}], ids=["attempt", "nonce", "token"]
)
def test_a_result_that_is_not_for_this_attempt_changes_nothing(change: dict[str, Json]) -> None:
    run = one()
    task_ = run.open()[0]
    given: dict[str, Json] = {"token": task_.token, "attempt": task_.attempt, "nonce": task_.nonce} | change
    run.send(c.TaskResult(**given, status="completed", output="forged"))
    assert run.outcome is None
    assert run.kinds()[-1] == "result.ignored"
    assert run.complete("a", "real").output == "real"


def test_a_repeated_result_is_applied_once() -> None:
    run = Drive(graph("a", "b", transitions=[{"from": "a", "to": "b"}])).start()
    first = run.open()[0]
    run.answer(first, 1).answer(first, 2)
    assert [task_.input for task_ in run.open("b")] == [1]


def test_a_worker_that_never_answers_times_out_and_is_tried_again() -> None:
    run = one(retry={"max_attempts": 2}, timeout_ms=10_000, queue_timeout=0)
    run.advance(20)
    assert [task_.attempt for task_ in run.open()] == [2]
    run.advance(20)
    assert (run.outcome, run.code) == ("failed", "TASK_TIMEOUT")


def test_a_node_deadline_covers_all_attempts() -> None:
    run = one(retry={"max_attempts": 50, "backoff_ms": 1000}, limits={"deadline_s": 10})
    for _ in range(8):
        run.fail("a", retryable=True).advance(1)
    run.advance(5)
    assert (run.outcome, run.code) == ("failed", "NODE_DEADLINE")


def test_an_error_transition_catches_and_sees_the_error() -> None:
    run = Drive(
        graph(
            "a",
            "ok",
            task("rescue", input={"why": "state._last_error.code", "node": "state._last_error.node"}),
            transitions=[{"from": "a", "to": "ok"}, {"from": "a", "to": "rescue", "on": "error"}],
        )
    ).start()
    run.fail("a", "NO_STOCK")
    assert [task_.input for task_ in run.open()] == [{"why": "NO_STOCK", "node": "a"}]
    run.complete("rescue", "saved")
    assert (run.outcome, run.output) == ("completed", "saved")


def test_a_plain_transition_never_catches() -> None:
    run = Drive(graph("a", "b", transitions=[{"from": "a", "to": "b"}])).start().fail("a")
    assert run.outcome == "failed"


def test_the_error_is_dropped_at_the_next_success() -> None:
    run = Drive(
        graph(
            "a",
            "rescue",
            task("after", input={"clean": "!has(state._last_error)"}),
            transitions=[{"from": "a", "to": "rescue", "on": "error"}, {"from": "rescue", "to": "after"}],
        )
    ).start()
    run.fail("a").complete("rescue")
    assert run.open("after")[0].input == {"clean": True}


def test_an_uncaught_failure_ends_everything_else_and_waits_for_what_runs() -> None:
    run = Drive(graph("a", "b", "c", transitions=[])).start()
    run.fail("a")
    assert (run.outcome, run.status) == ("failed", "running")
    run.complete("b", "late")
    assert "result.ignored" not in run.kinds()
    run.complete("c", "late too")
    assert (run.status, run.code) == ("closed", "BOOM")


def test_what_does_not_answer_within_the_grace_is_forced() -> None:
    run = Drive(graph("a", "b", transitions=[])).start().fail("a")
    run.advance(29)
    assert run.status == "running"
    run.advance(2)
    assert run.status == "closed"


def test_a_run_that_goes_round_for_ever_meets_its_hop_limit() -> None:
    definition = graph(
        {"id": "a", "type": "pass"},
        {"id": "b", "type": "pass"},
        task("z"),
        transitions=[
            {"from": "a", "to": "b"},
            {"from": "b", "to": "a", "max_iterations": 100_000},
            {"from": "b", "to": "z", "priority": 2},
        ],
        initial_node_id="a",
        limits={"max_hops": 500},
    )
    run = Drive(definition).start()
    assert (run.outcome, run.code) == ("failed", "LIMIT_MAX_HOPS")


def test_a_long_decision_yields_and_goes_on() -> None:
    nodes = [{"id": f"n{number}", "type": "pass"} for number in range(500)]
    ways = [{"from": f"n{number}", "to": f"n{number + 1}"} for number in range(499)]
    run = Drive(graph(*nodes, transitions=ways), "x").start()
    assert run.outcome == "completed"
    assert run.kinds().count("run.yielded") == 2


def parked() -> Drive:
    return one(on_exhausted="park").fail("a")


def test_a_parked_token_waits_and_raises_an_incident() -> None:
    run = parked()
    assert (run.outcome, run.open(), run.kinds()[-1]) == (None, [], "incident.raised")


def test_a_parked_token_is_tried_once_more_under_the_same_key() -> None:
    run = parked()
    run.send(c.RetryParked(1))
    (again,) = run.open()
    assert (again.attempt, again.idempotency_key) == (2, "r.1")
    assert run.complete("a", "fine").output == "fine"


def test_a_dropped_token_fails_its_node() -> None:
    run = parked().send(c.DropParked(1))
    assert (run.outcome, run.code) == ("failed", "BOOM")


def test_only_a_parked_token_can_be_retried_or_dropped() -> None:
    run = one()
    with pytest.raises(UnknownTarget):
        run.send(c.RetryParked(1))
