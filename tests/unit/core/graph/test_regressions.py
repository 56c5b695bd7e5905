"""What an audit of the decider found: each was wrong once."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.graph.effects import outstanding
from penstock.core.graph.errors import IllegalTransition
from penstock.core.graph.memo import memo_key
from penstock.core.model import commands as c
from penstock.core.model import effects as f
from penstock.core.model import events as e
from penstock.core.model.decider import Memo
from tests.unit.core.graph.drive import Drive, graph

Json = Any
REF = {"$blob": "sha256:1", "size": 100_000}
UNDO = {"action": "undo"}
CHILD = {"id": "k", "type": "workflow", "workflow": "sub"}


def task(name: str, **more: Json) -> dict[str, Json]:
    return {"id": name, "type": "task", "queue": "q", **more}


def way(start: str, end: str, **more: Json) -> dict[str, Json]:
    return {"from": start, "to": end, **more}


def run_of(*nodes: Json, ways: list[Json] | None = None, given: Json = None, **more: Json) -> Drive:
    return Drive(graph(*nodes, transitions=ways or [], **more), given).start()


def waiting(run: Drive, kind: type[Any]) -> list[Any]:
    return [effect for effect in outstanding(run.program, run.state) if isinstance(effect, kind)]


def undoing(run: Drive) -> list[str]:
    return [found.node for found in run.open() if found.purpose == "undo"]


def kinds(run: Drive, kind: type[Any]) -> list[Any]:
    return [event for event, _ in run.log if isinstance(event, kind)]


# -- undoing


@pytest.mark.parametrize(("end", "reason"), [("fail", "failure"), ("cancel", "cancel")])
def test_a_child_is_told_why_it_is_undone_in_the_words_of_its_rules(end: str, reason: str) -> None:
    run = run_of(CHILD, "b", ways=[way("k", "b")])
    run.send(c.EndChild("r.1.1", "completed", 1))
    run = run.fail("b") if end == "fail" else run.send(c.Cancel()).advance(31)
    (told,) = waiting(run, f.TellChild)
    assert (told.what, told.reason) == ("compensate", reason)


@pytest.mark.parametrize("policy", ["skip", "run"])
def test_a_success_that_is_known_is_undone_once_whatever_later_attempts_were(policy: str) -> None:
    node = task("a", retry=2, timeout="10s", queue_timeout=0, compensate={**UNDO, "on_unknown": policy})
    run = run_of(node)
    first = run.open()[0]
    run.advance(15).advance(0)
    run.send(c.TaskResult(first.token, first.attempt, first.nonce, "completed", "late"))
    run.advance(20)
    assert (run.outcome, undoing(run)) == ("failed", ["a"])
    assert run.open()[0].input["output"] == "late"
    run.complete("a")
    assert (run.status, len(kinds(run, e.CompensationStarted))) == ("closed", 1)


def test_a_child_that_ends_after_its_nodes_deadline_changes_nothing() -> None:
    run = run_of({**CHILD, "limits": {"deadline": "10s"}}, "h", ways=[way("k", "h", on="error")]).advance(11)
    assert [found.node for found in run.open()] == ["h"]
    run.send(c.EndChild("r.1.1", "completed", 1))
    assert run.complete("h").outcome == "completed"


def test_a_completed_run_can_be_undone_before_it_is_closed_and_is_when_it_is() -> None:
    sync = {"group": "g", "wait_for": "any", "on_early_complete": "abandon"}
    ways = [way("s", "a", group="g", spawn=2), way("a", "z", synchronize=sync)]
    run = run_of("s", "a", task("z", compensate={**UNDO, "on": ["manual"]}), ways=ways)
    run.complete("s").complete("a").complete("z")
    assert (run.outcome, run.status) == ("completed", "running")
    run.send(c.Compensate("manual"))
    assert undoing(run) == []
    run.complete("a")
    assert undoing(run) == ["z"]
    assert run.complete("z").status == "closed"


def test_a_run_without_an_outcome_is_not_undone() -> None:
    with pytest.raises(IllegalTransition):
        run_of("a").send(c.Compensate("manual"))


def test_force_undoes_nothing_of_unknown_outcome_either() -> None:
    run = run_of(task("a", compensate={**UNDO, "on_unknown": "run"})).send(c.Cancel(force=True))
    assert (undoing(run), run.status) == ([], "closed")


def test_a_child_that_completed_late_is_undone_by_its_nodes_own_compensation() -> None:
    run = run_of({**CHILD, "compensate": {"action": "undo", "type": "task", "queue": "q"}}).send(c.Cancel())
    run.send(c.EndChild("r.1.1", "completed", 1)).advance(31)
    assert (undoing(run), waiting(run, f.TellChild)) == (["k"], [])


def test_the_time_of_a_compensation_runs_from_its_start() -> None:
    run = run_of(task("a", compensate={**UNDO, "timeout": "10s"}), "b", ways=[way("a", "b")]).complete("a").fail("b")
    (undo,) = run.open()
    run.advance(200)
    assert undoing(run) == ["a"]
    run.send(c.TaskBegun(undo.token, undo.attempt, undo.nonce)).advance(14)
    assert undoing(run) == ["a"]
    assert run.advance(2).status == "closed"


def test_what_was_recalled_is_not_undone() -> None:
    run = Drive(graph(task("a", memoize=True, compensate=UNDO), "b", transitions=[way("a", "b")]))
    run.memos[memo_key(run.program.nodes["a"].rule, None)] = Memo("before")
    run.start().fail("b")
    assert (run.status, undoing(run)) == ("closed", [])


def test_where_the_result_names_the_way_nothing_is_recalled() -> None:
    branch = {"type": "agent_driven", "available_next_nodes": ["x", "y"], "default": "x"}
    run = run_of(task("a", memoize=True, branch=branch), "x", "y")
    assert run.needed == []


def test_a_failed_child_that_is_caught_is_not_undone() -> None:
    node = {**CHILD, "on_failure": "catch", "compensate": {"action": "undo", "type": "task", "queue": "q"}}
    run = run_of(node, "b", ways=[way("k", "b")]).send(c.EndChild("r.1.1", "failed")).fail("b")
    assert run.status == "closed"


def test_undoing_thousands_is_not_quadratic() -> None:
    nodes: list[Json] = ["s", task("a", compensate=UNDO), "b"]
    ways = [way("s", "a", foreach="output"), way("s", "b")]
    run = run_of(*nodes, ways=ways).complete("s", [1, 2, 3]).complete("a").complete("a").complete("a")
    assert list(run.state.undo) == sorted(run.state.undo)
    assert undoing(run.fail("b")) == ["a"]


# -- references


def test_the_runs_own_output_loads_what_it_reads() -> None:
    run = run_of("a", output={"n": "nodes.a.output.n + 1"})
    run.blobs["sha256:1"] = {"n": 1}
    assert run.complete("a", REF).output == {"n": 2}


def test_a_list_that_is_a_reference_is_loaded_to_fan_out() -> None:
    run = run_of("a", "b", ways=[way("a", "b", foreach="output")])
    run.blobs["sha256:1"] = [1, 2]
    assert [found.input for found in run.complete("a", REF).open("b")] == [1, 2]


def test_what_a_person_decides_is_added_to_what_was_asked_not_to_a_reference() -> None:
    run = run_of("a", {"id": "h", "type": "human"}, "b", ways=[way("a", "h"), way("h", "b")]).complete("a", REF)
    run.blobs["sha256:1"] = {"amount": 3}
    run.send(c.DecideApproval("r.2", "approved", "ann"))
    assert run.open("b")[0].input["amount"] == 3


def test_a_reference_deep_in_the_input_is_seen() -> None:
    run = Drive(graph("a", "b", transitions=[way("a", "b", when="input.doc.n == 1")]), {"doc": REF}).start()
    run.blobs["sha256:1"] = {"n": 1}
    assert [found.node for found in run.complete("a").open()] == ["b"]


def test_nothing_is_written_into_a_reference() -> None:
    run = run_of(task("a", output={"big": "output"}), task("b", output={"big.x": "output"}), ways=[way("a", "b")])
    assert run.complete("a", REF).complete("b", 1).code == "MAPPING_ERROR"


# -- ways


def sandboxed(*nodes: Json, **more: Json) -> Drive:
    return run_of(*nodes, **more)


LOOP = {"condition": {"type": "python_sandbox", "code": "def evaluate(output, context):\n    return False"}}


def verdict(run: Drive) -> Drive:
    (asked,) = [found for found in run.open() if found.purpose == "route"]
    return run.answer(asked, {program["id"]: False for program in asked.config["programs"]})


def test_a_rejection_is_not_forgotten_while_user_code_is_asked() -> None:
    human = {"id": "h", "type": "human", "human": {"rejection_path": ["no"]}, "loop": {**LOOP, "max_iterations": 3}}
    run = sandboxed(human, "yes", "no", ways=[way("h", "yes")])
    run.send(c.DecideApproval("r.1", "rejected", "ann"))
    assert [found.node for found in verdict(run).open()] == ["no"]


def test_an_agents_choice_is_not_forgotten_while_user_code_is_asked() -> None:
    branch = {"type": "agent_driven", "available_next_nodes": ["x", "y"], "default": "y"}
    run = sandboxed(task("a", branch=branch, loop={**LOOP, "max_iterations": 3}), "x", "y")
    run.answer(run.open()[0], 1, next_nodes=("x",))
    assert [found.node for found in verdict(run).open()] == ["x"]


# -- time


def test_a_pause_longer_than_a_verdict_may_take_fails_nothing() -> None:
    code = {"type": "python_sandbox", "code": "def evaluate(output, context):\n    return True"}
    run = run_of("a", "b", ways=[way("a", "b", when=code)])
    first = run.open()[0]
    run.send(c.Pause()).answer(first, 1).advance(3600).send(c.Resume())
    (asked,) = run.open()
    run.answer(asked, {program["id"]: True for program in asked.config["programs"]})
    assert [found.node for found in run.open()] == ["b"]


def test_nobody_is_asked_in_a_paused_run() -> None:
    human = {"approvers": ["ann"], "timeout": "1h", "on_timeout": "escalate", "escalate_to": ["ben"]}
    run = run_of({"id": "h", "type": "human", "human": human}).send(c.Pause()).advance(3601)
    assert waiting(run, f.AskApproval) == []
    assert [ask.approvers for ask in waiting(run.send(c.Resume()), f.AskApproval)] == [("ben",)]


def test_a_timer_that_was_set_anew_does_not_fire_at_its_old_time() -> None:
    run = run_of({"id": "w", "type": "wait", "wait": "10s"})
    run.send(c.Patch("p", ({"op": "replace", "path": "/nodes/w/wait", "value": "1h"},)))
    run.now = type(run.now)(run.now + 11_000_000)
    run.send(c.FireTimer("t1.0.wait"))
    assert run.outcome is None


@pytest.mark.parametrize("until", [1e300, 9.3e18, -1e300, "soon", True], ids=str)
def test_a_time_beyond_all_times_fails_its_node(until: Json) -> None:
    node = {"id": "w", "type": "wait", "wait": {"until": "input"}}
    assert Drive(graph(node), until).start().code == "MAPPING_ERROR"


def test_a_deadline_within_the_grace_does_not_cut_it_short() -> None:
    run = run_of(task("a", compensate=UNDO), deadline="40s").advance(20).send(c.Cancel())
    late = run.open()[0]
    run.advance(25)
    run.answer(late, "late")
    assert undoing(run) == ["a"]


def test_a_closed_run_leaves_no_timer_armed() -> None:
    run = run_of("a", deadline="30d").complete("a")
    assert [event.timer for event in kinds(run, e.TimerCleared)] == ["run.run_deadline"]


@pytest.mark.parametrize(
    "node",
    [{"id": "h", "type": "human"}, {"id": "h", "type": "wait", "wait": {"signal": "go"}}],
    ids=["person", "signal"],
)
def test_a_nodes_deadline_holds_for_what_is_no_task(node: dict[str, Json]) -> None:
    run = run_of({**node, "limits": {"deadline": "10s"}}).advance(11)
    assert run.code == "NODE_DEADLINE"


# -- joins, limits, what workers get


def test_more_arrivals_than_branches_fail_before_any_work_goes_out() -> None:
    ways = [way("s", "a", foreach="output", group="g"), way("a", "j", synchronize={"wait_for": {"m_of_n": 3}})]
    run = run_of("s", "a", "j", ways=ways).complete("s", [1, 2])
    assert (run.code, kinds(run, e.NodeDispatched)[1:]) == ("JOIN_UNREACHABLE", [])


def test_a_limit_that_an_agent_crosses_fails_the_run_and_is_not_parked() -> None:
    branch = {"type": "agent_driven", "available_next_nodes": ["x", "y"], "default": "x"}
    run = run_of(task("a", branch=branch, limits={"max_fanout": 1}, on_exhausted="park"), "x", "y")
    run.answer(run.open()[0], 1, next_nodes=("x", "y"))
    assert (run.outcome, run.code) == ("failed", "LIMIT_MAX_FANOUT")


def test_artifacts_of_a_node_that_failed_are_not_staged() -> None:
    run = run_of(task("a", output_schema={"type": "string"}))
    made = run.open()[0]
    report = e.Artifact("report", "cas://1")
    run.send(c.TaskResult(made.token, made.attempt, made.nonce, "completed", 7, artifacts=(report,)))
    assert (run.code, run.state.artifacts) == ("OUTPUT_SCHEMA", {})


def test_a_registered_configuration_goes_with_the_task_and_with_its_compensation() -> None:
    node = task("a", config_ref="sha256:cfg001", compensate={"action": "undo"})
    run = run_of(node, "b", ways=[way("a", "b")])
    (sent,) = run.open()
    run.complete("a").fail("b")
    (undo,) = run.open()
    refs = [found.config_ref and found.config_ref.ref for found in (sent, undo)]
    assert (refs, undo.config) == (["sha256:cfg001"] * 2, {"action": "undo"})


def test_a_signal_may_come_with_the_start() -> None:
    run = Drive(graph({"id": "w", "type": "wait", "wait": {"signal": "go"}}))
    run.send(c.Start("w", "hash", None, "seed", "r", signals=(c.SendSignal("s", "go", 5),)))
    assert (run.outcome, run.output) == ("completed", 5)


def test_a_join_after_an_inner_loop_is_not_in_it_although_an_outer_one_leads_back() -> None:
    """Found by the simulator: arrivals before and after the inner loop was left did not meet."""
    inner = {"condition": "output == 'again'", "max_iterations": 4, "loop_back_to": "p"}
    nodes: list[Json] = ["s", "p", task("t", loop=inner), "x", task("j", dependencies=["t", "x"], wait_for_all=True)]
    ways = [way("s", "p"), way("s", "x"), way("p", "t"), way("t", "j"), way("x", "j")]
    ways.append(way("j", "s", when="output == 'again'", max_iterations=2))
    run = (
        run_of(*nodes, "z", ways=[*ways, way("j", "z", priority=2)]).complete("s").complete("p").complete("t", "again")
    )
    run.complete("x", "X").complete("p").complete("t", "T")
    assert [found.input for found in run.open("j")] == [{"t": "T", "x": "X"}]
