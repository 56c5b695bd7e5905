"""The life of a run: status, pause, cancel, limits, signals. What test_life.py leaves open."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.definition import check
from penstock.core.graph.decide import decide
from penstock.core.graph.errors import IllegalTransition, SignalsFull
from penstock.core.graph.state import State
from penstock.core.model import commands as c
from penstock.core.model import effects as f
from penstock.core.model import events as e
from penstock.core.model.graph import AgentRule, LimitsRule
from penstock.core.model.time import SECOND, Instant
from tests.unit.core.graph.drive import EVALUATOR, Drive, graph
from tests.unit.core.graph.rules.shapes import (
    asked,
    bounded,
    caused,
    chain,
    children,
    failure,
    fanned,
    nodes_open,
    recorded,
    result,
    run_of,
    task,
    undoable,
    way,
)

Json = Any

WAIT: dict[str, Json] = {"id": "w", "type": "wait", "wait": "1h"}
HUMAN: dict[str, Json] = {"id": "h", "type": "human"}
CHILD: dict[str, Json] = {"id": "k", "type": "workflow", "workflow": "sub"}
SIGNAL: dict[str, Json] = {"id": "s", "type": "wait", "wait": {"signal": "go"}}


# -- status


def test_a_run_that_was_not_started_is_pending() -> None:
    assert (Drive(graph("a")).status, Drive(graph("a")).outcome) == ("pending", None)


@pytest.mark.parametrize(
    ("node", "status"),
    [
        pytest.param(task("a"), "running", id="dispatched"),
        pytest.param(WAIT, "waiting", id="timer"),
        pytest.param(SIGNAL, "waiting", id="signal"),
        pytest.param(HUMAN, "waiting", id="approval"),
    ],
)
def test_a_run_is_running_while_something_is_dispatched_and_else_waits(node: dict[str, Json], status: str) -> None:
    assert run_of(node, ways=[]).status == status


def test_a_run_that_waited_runs_again() -> None:
    run = run_of(WAIT, "b", ways=chain("w", "b"))
    assert run.advance(3600).status == "running"


def test_a_run_between_two_attempts_waits() -> None:
    run = run_of(task("a", retry={"max_attempts": 2, "delay": "1h"}), ways=[]).fail("a", retryable=True)
    assert run.status == "waiting"


def test_the_outcome_is_known_before_the_close() -> None:
    run = run_of(undoable("a"), "b", "c", ways=[]).complete("a").fail("b")
    assert (run.outcome, run.status) == ("failed", "running")
    assert (run.complete("c").outcome, run.status) == ("failed", "compensating")
    assert (run.complete("a").outcome, run.status) == ("failed", "closed")


# -- quiescence


@pytest.mark.parametrize("extra", ["deadline", "signals"])
def test_quiescence_ignores_the_runs_own_timers_and_buffered_signals(extra: str) -> None:
    run = run_of("a", ways=[], limits={"deadline_s": 3600})
    if extra == "signals":
        run.send(c.SendSignal("1", "nobody", 1))
    run.complete("a", "A")
    assert (run.outcome, run.status, run.state.timers) == ("completed", "closed", {})


@pytest.mark.parametrize("node", [WAIT, HUMAN, CHILD, SIGNAL], ids=["timer", "approval", "child", "signal"])
def test_a_run_is_not_complete_while_a_token_waits_for_anything(node: dict[str, Json]) -> None:
    """Trap 8."""
    run = run_of("a", node, ways=[]).complete("a")
    assert run.outcome is None


# -- pause


@pytest.mark.parametrize(
    ("node", "waits"),
    [
        pytest.param(task("x"), nodes_open, id="task"),
        pytest.param({**HUMAN, "id": "x"}, asked, id="approval"),
        pytest.param({**CHILD, "id": "x"}, children, id="child"),
    ],
)
def test_nothing_is_dispatched_started_or_asked_until_resume(node: dict[str, Json], waits: Any) -> None:  # noqa: ANN401 - a question
    run = run_of("a", node, ways=chain("a", "x"))
    (found,) = run.open("a")
    run.send(c.Pause()).answer(found, 1)
    assert (waits(run), run.status) == ([], "paused")
    run.send(c.Resume())
    assert len(waits(run)) == 1


def test_tokens_move_through_what_needs_no_work_while_paused() -> None:
    through: dict[str, Json] = {"id": "p", "type": "pass"}
    run = run_of("a", through, {**WAIT, "wait": "10s"}, "b", ways=chain("a", "p", "w", "b"))
    (found,) = run.open("a")
    run.send(c.Pause()).answer(found, 1).advance(11)
    assert (run.visited(), run.open()) == (["a", "p", "w"], [])
    assert nodes_open(run.send(c.Resume())) == ["b"]


def test_signals_and_decisions_are_taken_while_paused() -> None:
    run = run_of(SIGNAL, HUMAN, "b", "d", ways=[*chain("s", "b"), *chain("h", "d")])
    (approval,) = asked(run)
    run.send(c.Pause()).send(c.SendSignal("1", "go", "went")).send(c.DecideApproval(approval, "approved", "me"))
    assert run.visited() == ["s", "h"]
    assert sorted(nodes_open(run.send(c.Resume()))) == ["b", "d"]


def test_a_retry_that_falls_due_while_paused_waits_for_resume() -> None:
    run = run_of(task("a", retry={"max_attempts": 2, "delay": "10s"}), ways=[]).fail("a", retryable=True)
    run.send(c.Pause()).advance(60)
    assert run.open() == []
    assert [found.attempt for found in run.send(c.Resume()).open()] == [2]


def test_a_parked_token_that_is_retried_while_paused_waits_for_resume() -> None:
    run = run_of(task("a", on_exhausted="park"), ways=[]).fail("a").send(c.Pause()).send(c.RetryParked(1))
    assert run.open() == []
    assert [found.attempt for found in run.send(c.Resume()).open()] == [2]


def test_a_fan_out_while_paused_is_dispatched_at_resume_within_its_limits() -> None:
    ways = [way("a", "b", group="g", foreach={"in": "[1, 2, 3]", "max_parallel": 2}), way("b", "j", synchronize={})]
    run = run_of("a", "b", "j", ways=ways)
    (found,) = run.open("a")
    run.send(c.Pause()).answer(found).send(c.Resume())
    assert [found.input for found in run.open()] == [1, 2]


def test_task_time_outs_keep_running_while_paused() -> None:
    run = run_of(task("a", timeout="10s", queue_timeout="0s"), ways=[]).send(c.Pause()).advance(60)
    assert (run.outcome, run.code) == ("failed", "TASK_TIMEOUT")


def test_due_times_of_approvals_keep_running_while_paused() -> None:
    run = run_of({**HUMAN, "human": {"timeout": "10s"}}, ways=[]).send(c.Pause()).advance(60)
    assert (run.outcome, run.code) == ("failed", "APPROVAL_TIMEOUT")


def test_the_deadline_keeps_running_while_paused() -> None:
    run = run_of("a", ways=[], limits={"deadline_s": 10}).send(c.Pause()).advance(11)
    assert run.outcome == "timed_out"


def test_joins_are_decided_while_paused() -> None:
    run = fanned(timeout="10s", on_timeout="proceed_with_available").complete("b", "x").send(c.Pause()).advance(11)
    assert recorded(run, e.JoinCompleted) != []
    assert run.send(c.Resume()).open("j")[0].input == ["x"]


def test_pause_is_refused_while_compensating() -> None:
    run = run_of(undoable("a"), "b", ways=chain("a", "b")).complete("a").fail("b")
    with pytest.raises(IllegalTransition) as caught:
        run.send(c.Pause())
    assert caught.value.attributes["now"] == "compensating"


def test_a_run_that_closed_while_paused_stays_closed() -> None:
    run = run_of("a", ways=[])
    (found,) = run.open()
    run.send(c.Pause()).answer(found, 1)
    assert (run.outcome, run.status) == ("completed", "closed")
    with pytest.raises(IllegalTransition):
        run.send(c.Resume())
    assert run.status == "closed"


def test_a_paused_run_that_is_cancelled_is_undone_and_cannot_be_resumed() -> None:
    run = run_of(undoable("a"), HUMAN, ways=chain("a", "h")).complete("a").send(c.Pause()).send(c.Cancel())
    assert (run.outcome, run.status) == ("cancelled", "compensating")
    with pytest.raises(IllegalTransition):
        run.send(c.Resume())
    assert run.status == "compensating"


def test_pausing_twice_is_pausing_once() -> None:
    run = run_of("a", ways=[]).send(c.Pause()).send(c.Pause())
    assert len(recorded(run, e.RunPaused)) == 1


# -- cancel and deadline


@pytest.mark.parametrize("node", [WAIT, HUMAN, SIGNAL], ids=["timer", "approval", "signal"])
@pytest.mark.parametrize("how", ["cancel", "deadline"])
def test_waiting_tokens_end_at_once(node: dict[str, Json], how: str) -> None:
    run = run_of(node, ways=[], limits={"deadline_s": 60})
    run = run.send(c.Cancel()) if how == "cancel" else run.advance(61)
    assert (run.outcome, run.status) == ({"cancel": "cancelled", "deadline": "timed_out"}[how], "closed")


def test_an_approval_of_a_cancelled_run_is_withdrawn() -> None:
    run = run_of(HUMAN, ways=[])
    (approval,) = asked(run)
    run.send(c.Cancel())
    with pytest.raises(IllegalTransition) as caught:
        run.send(c.DecideApproval(approval, "approved", "me"))
    assert caught.value.attributes["now"] == "withdrawn"


def test_running_tasks_and_children_are_told() -> None:
    run = run_of("a", CHILD, ways=[])
    (found,), (child,) = run.open(), children(run)
    effects = caused(run, c.Cancel())
    assert f.CancelTask(found.token, 1, "q") in effects
    assert f.TellChild(child, "cancel") in effects


def test_a_result_within_the_grace_is_recorded_and_not_routed() -> None:
    run = run_of("a", "b", ways=chain("a", "b"))
    (found,) = run.open()
    run.send(c.Cancel()).advance(29).answer(found, "late")
    assert (run.visited(), run.open(), run.status) == (["a"], [], "closed")


def test_a_failure_within_the_grace_is_not_tried_again() -> None:
    run = run_of(task("a", retry=5), ways=[])
    run.send(c.Cancel()).send(failure(run.open()[0], retryable=True))
    assert (run.outcome, run.status) == ("cancelled", "closed")


def test_after_the_grace_it_is_forced() -> None:
    run = run_of("a", CHILD, ways=[]).send(c.Cancel()).advance(29.9)
    assert run.status != "closed"
    assert run.advance(0.2).status == "closed"


def test_cancel_during_compensation_is_refused() -> None:
    run = run_of(undoable("a"), "b", ways=chain("a", "b")).complete("a").fail("b")
    with pytest.raises(IllegalTransition) as caught:
        run.send(c.Cancel())
    assert caught.value.attributes["now"] == "compensating"


# -- limits


def test_the_limits_have_the_defaults_of_the_rules() -> None:
    checked = check(graph("a"), evaluator=EVALUATOR)
    assert checked.graph is not None
    assert checked.graph.limits == LimitsRule(10_000, 10_000, 100_000, 1024 * 1024, None, 16, 200)
    assert AgentRule(()).max_fanout == 10


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        pytest.param({"max_fanout": 2}, "LIMIT_MAX_FANOUT", id="max_fanout"),
        pytest.param({"max_tokens": 2}, "LIMIT_MAX_TOKENS", id="max_tokens"),
        pytest.param({"max_hops": 1}, "LIMIT_MAX_HOPS", id="max_hops"),
        pytest.param({"max_state_bytes": 100}, "LIMIT_MAX_STATE_BYTES", id="max_state_bytes"),
        pytest.param({"max_bytes": 100}, "LIMIT_MAX_BYTES", id="max_bytes"),
    ],
)
def test_every_limit_but_the_deadline_gives_failed_and_is_named(limits: dict[str, Json], code: str) -> None:
    node = task("a", output={"large": "output"})
    run = run_of(node, "b", ways=[way("a", "b", foreach="[1, 2, 3]")], limits=limits).complete("a", "x" * 1000)
    assert (run.outcome, run.code) == ("failed", code)


def test_children_nest_no_deeper_than_their_limit() -> None:
    """Trap 14."""
    run = Drive(graph(CHILD))
    run.send(c.Start("w", "hash", None, "seed", parent="p", depth=16))
    assert (run.outcome, run.code) == ("failed", "LIMIT_MAX_DEPTH")
    run = Drive(graph(CHILD))
    run.send(c.Start("w", "hash", None, "seed", parent="p", depth=15))
    assert len(children(run)) == 1


@pytest.mark.parametrize("join", [True, False], ids=["joined", "unjoined"])
@pytest.mark.parametrize("limit", [1, 2])
def test_no_more_tokens_of_a_node_are_under_way_than_its_parallelism(limit: int, *, join: bool) -> None:
    ways = [way("a", "b", group="g", foreach="[0, 1, 2, 3]"), *([way("b", "j", synchronize={})] if join else [])]
    run = run_of("a", task("b", parallelism=limit), *(["j"] if join else []), ways=ways).complete("a")
    order = []
    while tasks := run.open("b"):
        assert len(tasks) <= limit
        order.append(tasks[0].input)
        run.answer(tasks[0], tasks[0].input)
    assert order == [0, 1, 2, 3]
    assert nodes_open(run) == (["j"] if join else [])


@pytest.mark.parametrize("how", ["complete", "settle"])
def test_max_parallel_lets_the_next_branch_in_when_one_has_closed_however_it_did(how: str) -> None:
    run = fanned(items=4, foreach={"max_parallel": 2}, on_sibling_failure="settle")
    assert [found.input for found in run.open("b")] == [0, 1]
    for expected in ([0, 2], [0, 3], [0]):
        run = run.complete("b", index=1) if how == "complete" else run.fail("b", index=1)
        assert [found.input for found in run.open("b")] == expected
    run.complete("b")
    assert nodes_open(run) == ["j"]


def test_max_parallel_holds_branches_that_begin_with_no_work() -> None:
    ways = [
        way("a", "p", group="g", foreach={"in": "[0, 1, 2]", "max_parallel": 1}),
        way("p", "b"),
        way("b", "j", synchronize={"group": "g"}),
    ]
    run = run_of("a", {"id": "p", "type": "pass"}, "b", "j", ways=ways).complete("a")
    assert [found.input for found in run.open("b")] == [0]


def test_max_parallel_counts_branches_over_all_their_nodes() -> None:
    ways = [
        way("a", "b", group="g", foreach={"in": "[0, 1]", "max_parallel": 1}),
        way("b", "c"),
        way("c", "j", synchronize={"group": "g"}),
    ]
    run = run_of("a", "b", "c", "j", ways=ways).complete("a").complete("b")
    assert nodes_open(run) == ["c"]
    assert nodes_open(run.complete("c")) == ["b"]


@pytest.mark.parametrize("node", [HUMAN, CHILD], ids=["approval", "child"])
def test_parallelism_holds_for_what_is_no_task(node: dict[str, Json]) -> None:
    run = run_of("a", {**node, "parallelism": 1}, ways=[way("a", node["id"], foreach="[0, 1]")]).complete("a")
    assert len(asked(run)) + len(children(run)) == 1


def test_a_parked_token_that_is_retried_counts_for_its_nodes_parallelism() -> None:
    node = task("b", parallelism=1, on_exhausted="park")
    ways = [way("a", "b", group="g", foreach="[0, 1, 2, 3]"), way("b", "j", synchronize={}), way("a", "x")]
    run = run_of("a", node, "j", "x", ways=ways).complete("a").fail("b")
    (parked,) = [token.id for token in run.state.tokens.values() if token.status == "parked"]
    run.send(c.RetryParked(parked)).answer(run.open("b")[0]).complete("x")
    while tasks := run.open("b"):
        assert len(tasks) == 1
        run.answer(tasks[0])
    assert nodes_open(run) == ["j"]


def test_a_pause_does_not_hold_a_token_twice() -> None:
    ways = [way("a", "b", group="g", foreach="[0, 1, 2, 3]"), way("b", "c"), way("c", "j", synchronize={})]
    run = run_of("a", task("b", parallelism=2), "c", "j", ways=ways).complete("a")
    run.send(c.Pause()).send(c.Resume())
    assert len(recorded(run, e.TokenHeld)) == 2
    run.work(lambda found: found.input)
    assert (run.outcome, run.output) == ("completed", [0, 1, 2, 3])


def test_a_decision_on_a_paused_run_ends_although_tokens_are_held() -> None:
    ways = [way("a", "b", group="g", foreach="[0, 1]"), way("b", "c"), way("c", "j", synchronize={})]
    run = run_of("a", task("b", parallelism=1), "c", "j", ways=ways).complete("a")
    (found,) = run.open("b")
    run.send(c.Pause())
    with bounded():
        run.answer(found, "x")
    assert sorted(nodes_open(run.send(c.Resume()))) == ["b", "c"]


def begun(run: Drive, *commands: c.Command) -> list[e.Event]:
    """The events of these commands, each continued until it no longer yields, without the checks of `send`."""
    state, found = State(), list[e.Event]()
    for command in commands:
        run.now = Instant(run.now + 2 * SECOND)
        events = decide(run.program, state, command, run.now)
        for _ in range(10):
            found += events
            if not any(isinstance(event, e.RunYielded) for event in events):
                break
            events = decide(run.program, state, c.Continue(), run.now)
        else:
            pytest.fail("it goes on without end")
    return found


@pytest.mark.parametrize(
    ("foreach", "node", "expected"),
    [
        pytest.param({}, {}, 450, id="plain"),
        pytest.param({"max_parallel": 2}, {}, 2, id="max_parallel"),
        pytest.param({}, {"parallelism": 2}, 2, id="parallelism"),
    ],
)
def test_a_fan_out_beyond_the_inline_hops_goes_on_by_a_command_to_itself(
    foreach: Json, node: dict[str, Json], expected: int
) -> None:
    ways = [way("a", "b", foreach={"in": "output", **foreach})]
    run = Drive(graph({"id": "a", "type": "pass"}, task("b", **node), transitions=ways))
    events = begun(run, c.Start("w", "hash", list(range(450)), "seed"))
    assert sum(isinstance(event, e.NodeDispatched) for event in events) == expected


def test_a_large_fan_out_of_a_paused_run_comes_to_rest() -> None:
    ways = [way("w", "b", foreach="output")]
    run = Drive(graph({**WAIT, "wait": "1s"}, "b", transitions=ways))
    start = c.Start("w", "hash", list(range(450)), "seed")
    events = begun(run, start, c.Pause(), c.FireTimer("t1.0.wait"), c.Resume())
    assert sum(isinstance(event, e.NodeDispatched) for event in events) == 450


# -- signals


def waiting(name: str, **wait: Json) -> dict[str, Json]:
    return {"id": name, "type": "wait", "wait": {"signal": "go", **wait}}


def test_of_several_waits_the_oldest_tokens_takes_the_signal() -> None:
    run = run_of("a", waiting("x"), waiting("y"), ways=[way("a", "y"), way("a", "x")]).complete("a")
    run.send(c.SendSignal("1", "go"))
    assert run.visited() == ["a", "y"]
    assert run.send(c.SendSignal("2", "go")).visited() == ["a", "y", "x"]


def test_a_wait_takes_the_oldest_signal_that_satisfies_its_match() -> None:
    run = run_of("a", waiting("x", match="output.n > 1"), ways=chain("a", "x"))
    for number in (1, 2, 3):
        run.send(c.SendSignal(str(number), "go", {"n": number}))
    assert run.complete("a").output == {"n": 2}
    assert [signal.payload for signal in run.state.signals] == [{"n": 1}, {"n": 3}]


def test_a_signal_goes_past_the_oldest_wait_that_it_does_not_satisfy() -> None:
    run = run_of(waiting("x", match="output == 1"), waiting("y", match="output == 2"), ways=[])
    assert run.send(c.SendSignal("1", "go", 2)).visited() == ["y"]


def test_signals_of_one_name_are_taken_in_order_by_later_waits() -> None:
    run = run_of("a", waiting("x"), waiting("y"), ways=chain("a", "x", "y"))
    run.send(c.SendSignal("1", "go", "first")).send(c.SendSignal("2", "other")).send(c.SendSignal("3", "go", "second"))
    run.complete("a")
    assert [event.output for event in recorded(run, e.NodeCompleted)][1:] == ["first", "second"]
    assert [signal.name for signal in run.state.signals] == ["other"]


def test_a_match_may_read_what_the_run_knows() -> None:
    node = waiting("x", match="output.order == nodes.a.output.order && output.n == state.n")
    run = run_of(task("a", output={"n": "1"}), node, ways=chain("a", "x")).complete("a", {"order": 7})
    run.send(c.SendSignal("1", "go", {"order": 7, "n": 1}))
    assert run.outcome == "completed"


def test_signals_that_nobody_takes_are_bounded() -> None:
    run = Drive(graph("a"))
    state, now = State(), Instant(SECOND)
    decide(run.program, state, c.Start("w", "hash", None, "seed"), now)
    for number in range(1000):
        decide(run.program, state, c.SendSignal(str(number), "go"), now)
    with pytest.raises(SignalsFull):
        decide(run.program, state, c.SendSignal("1000", "go"), now)
    assert len(state.signals) == 1000


def test_a_signal_to_a_closed_run_is_refused() -> None:
    run = run_of("a", ways=[]).complete("a")
    with pytest.raises(IllegalTransition):
        run.send(c.SendSignal("1", "go"))


# -- approvals


@pytest.mark.parametrize("policy", ["fail", "approve", "reject"])
def test_of_a_timeout_and_a_decision_the_first_wins_and_the_other_gets_a_typed_answer(policy: str) -> None:
    """Trap 7."""
    human = {**HUMAN, "human": {"timeout": "10s", "on_timeout": policy}}
    run = run_of(human, ways=[])
    (approval,), (timer,) = asked(run), run.state.timers
    run.advance(11)
    with pytest.raises(IllegalTransition):
        run.send(c.DecideApproval(approval, "approved", "me"))
    run = run_of(human, ways=[]).send(c.DecideApproval(approval, "approved", "me"))
    before = len(run.log)
    assert run.send(c.FireTimer(timer)).log[before:] == []


def test_a_rejection_takes_its_path() -> None:
    run = run_of({**HUMAN, "rejection_path": ["no"]}, "yes", "no", ways=chain("h", "yes"))
    run.send(c.DecideApproval(asked(run)[0], "rejected", "me"))
    assert nodes_open(run) == ["no"]
    assert run.open("no")[0].input["decision"] == "rejected"


def test_a_result_for_a_run_that_is_over_changes_nothing() -> None:
    run = run_of("a", "b", ways=[]).fail("a")
    (late,) = run.open("b")
    run.advance(31)
    assert run.status == "closed"
    run.send(result(late, "late"))
    assert (run.status, run.outcome) == ("closed", "failed")
