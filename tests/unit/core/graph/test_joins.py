"""Group joins: graph-rules, "Joins", and the traps of semantics.md that are about them."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.model import commands as c
from penstock.core.model import events as e
from tests.unit.core.graph.drive import Drive, graph

Json = Any


def task(name: str, **more: Json) -> dict[str, Json]:
    return {"id": name, "type": "task", "queue": "q", **more}


def fanned(items: int = 3, *, node: dict[str, Json] | None = None, catch: bool = False, **sync: Json) -> Drive:
    """`a` fans out to `b`; a result "stray" goes to `s`, any other to the join at `j`, then `z`."""
    ways = [
        {"from": "a", "to": "b", "group": "g", "foreach": "output"},
        {"from": "b", "to": "s", "when": "output == 'stray'"},
        {"from": "b", "to": "j", "priority": 2, "synchronize": {"group": "g", **sync}},
        {"from": "j", "to": "z"},
    ]
    ways += [{"from": "j", "to": "h", "on": "error"}] if catch else []
    nodes: list[Json] = ["a", task("b", **(node or {})), "s", "j", "z", *(["h"] if catch else [])]
    return Drive(graph(*nodes, transitions=ways)).start().complete("a", list(range(items)))


def finish(run: Drive, *results: str) -> Drive:
    """Answer the open `b` in order: a value, "stray", or "!" for a failure."""
    for found, result in zip(run.open("b"), results, strict=False):
        if found not in run.open("b"):
            continue  # cancelled meanwhile
        if result == "!":
            run.send(c.TaskResult(found.token, found.attempt, found.nonce, "failed", fault=e.Fault("BOOM", "it broke")))
        else:
            run.answer(found, result)
            for stray in run.open("s"):
                run.answer(stray)
    return run


@pytest.mark.parametrize(
    ("sync", "results", "merged", "code"),
    [
        pytest.param({}, "xyz", ["x", "y", "z"], None, id="all merges the arrived when no branch is open"),
        pytest.param(
            {}, ["x", "stray", "z"], ["x", "z"], None, id="trap 16: it does not wait for one that went elsewhere"
        ),
        pytest.param({}, ["stray"] * 3, None, None, id="all with none arrived does not fire"),
        pytest.param({}, "x!", None, "BOOM", id="all fails fast"),
        pytest.param({"on_sibling_failure": "settle"}, "x!z", ["x", "z"], None, id="settle merges the arrived"),
        pytest.param({"wait_for": "any"}, "!y", ["y"], None, id="failures do not fail any"),
        pytest.param({"wait_for": {"m_of_n": 2}}, "x!z", ["x", "z"], None, id="m_of_n fires at the m-th"),
        pytest.param(
            {"wait_for": {"m_of_n": 2}}, "!!", None, "JOIN_UNREACHABLE", id="trap 4: too many failures end it"
        ),
        pytest.param({"wait_for": {"m_of_n": 2}}, ["stray", "!"], None, "JOIN_UNREACHABLE", id="strays count as gone"),
        pytest.param({"wait_for": "any"}, "!!!", None, "JOIN_UNREACHABLE", id="any with none left"),
    ],
)
def test_a_join_counts_branches(sync: dict[str, Json], results: Any, merged: Json, code: str | None) -> None:  # noqa: ANN401 - text or list
    run = finish(fanned(**sync), *results)
    assert [found.input for found in run.open("j")] == ([] if merged is None else [merged])
    assert run.code == code
    if merged is None:
        assert run.outcome == ("failed" if code else "completed")


def test_a_branch_with_a_token_still_open_has_not_arrived() -> None:
    ways = [
        {"from": "a", "to": "b", "group": "g"},
        {"from": "b", "to": "x"},
        {"from": "b", "to": "y"},
        {"from": "x", "to": "j", "synchronize": {"group": "g", "wait_for": "any"}},
    ]
    run = Drive(graph("a", "b", "x", "y", "j", transitions=ways)).start().complete("a").complete("b").complete("x")
    assert run.open("j") == []
    assert [found.node for found in run.complete("y").open()] == ["j"]


def test_a_settled_join_lists_the_errors_in_the_enclosing_scope() -> None:
    run = finish(fanned(on_sibling_failure="settle"), *"x!z")
    (error,) = run.state.scopes[0].errors["g"]
    assert (error["index"], error["item"], error["error"]["code"]) == (1, 1, "BOOM")


def test_a_failed_join_fails_its_target_which_may_catch() -> None:
    run = finish(fanned(catch=True), "x", "!")
    assert [found.node for found in run.open()] == ["h"]
    assert "j" not in run.visited()


def test_a_group_without_a_join_fails_its_enclosing_scope_at_once() -> None:
    ways = [{"from": "a", "to": "b", "foreach": "[1, 2, 3]"}]
    run = Drive(graph("a", "b", transitions=ways)).start().complete("a").fail("b", index=1)
    assert (run.outcome, run.code) == ("failed", "BOOM")


def test_a_failure_in_an_inner_group_fails_only_its_outer_branch() -> None:
    ways = [
        {"from": "a", "to": "b", "group": "outer", "foreach": "[1, 2]"},
        {"from": "b", "to": "c", "group": "inner", "foreach": "[1, 2]"},
        {"from": "c", "to": "d", "synchronize": {"group": "inner"}},
        {"from": "d", "to": "z", "synchronize": {"group": "outer", "on_sibling_failure": "settle"}},
    ]
    run = Drive(graph("a", "b", "c", "d", "z", transitions=ways)).start().complete("a").complete("b").complete("b")
    run.fail("c")
    assert len(run.open("c")) == 2
    run.complete("c", 1).complete("c", 2).complete("d", "D")
    assert run.open("z")[0].input == ["D"]


# -- early completion, late results


def test_open_siblings_are_cancelled_by_default_and_their_late_results_ignored() -> None:
    """Traps 5 and 11."""
    run = fanned(wait_for="any")
    first, late, _ = run.open("b")
    run.answer(first, "won")
    assert [found.node for found in run.open()] == ["j"]
    run.answer(late, "lost")
    assert run.kinds()[-1] == "result.ignored"
    assert run.complete("j", "J").complete("z", "Z").output == "Z"


def test_abandoned_siblings_finish_their_node_and_are_recorded_not_applied() -> None:
    run = fanned(wait_for="any", on_early_complete="abandon", node={"output": {"n": "output"}})
    first, late, failing = run.open("b")
    run.answer(first, "won").complete("j", "J").complete("z", "Z")
    assert run.outcome != "failed"
    run.answer(late, "lost")
    run.send(c.TaskResult(failing.token, 1, failing.nonce, "failed", fault=e.Fault("BOOM", "late", retryable=True)))
    assert [event.applied for event, _ in run.log if isinstance(event, e.NodeCompleted)][-1] is False
    assert (run.outcome, run.output, run.status) == ("completed", "Z", "closed")


def test_an_abandoned_sibling_counts_for_compensation() -> None:
    run = fanned(2, wait_for="any", on_early_complete="abandon", node={"compensate": {"action": "undo"}})
    first, late = run.open("b")
    run.answer(first, "won").answer(late, "lost")
    assert [done.output for done in run.state.undo.values()] == ["won", "lost"]


# -- time


@pytest.mark.parametrize(
    ("policy", "merged", "code"), [("fail", None, "JOIN_TIMEOUT"), ("proceed_with_available", ["x"], None)]
)
def test_the_timeout_runs_from_the_opening_of_the_group(policy: str, merged: Json, code: str | None) -> None:
    run = fanned(timeout="10s", on_timeout=policy).advance(6)
    finish(run, "x").advance(3.9)
    assert (run.outcome, run.open("j")) == (None, [])
    run.advance(0.2)
    assert run.code == code
    assert [found.input for found in run.open("j")] == ([] if merged is None else [merged])


# -- empty groups


@pytest.mark.parametrize(
    ("sync", "code"),
    [
        pytest.param({}, None, id="trap 1: all fires at once"),
        pytest.param({"wait_for": "any"}, "JOIN_UNREACHABLE", id="any fails"),
        pytest.param({"wait_for": {"m_of_n": 2}}, "JOIN_UNREACHABLE", id="m_of_n fails"),
        pytest.param({"wait_for": "any", "on_empty": "complete"}, None, id="on_empty complete"),
        pytest.param({"on_empty": "fail"}, "JOIN_UNREACHABLE", id="on_empty fail"),
    ],
)
def test_an_empty_group_is_decided_at_once(sync: dict[str, Json], code: str | None) -> None:
    run = fanned(0, **sync)
    assert run.code == code
    assert [found.input for found in run.open("j")] == ([] if code else [[]])


def test_a_foreach_over_no_list_is_an_error_and_not_one_branch() -> None:
    """Trap 2."""
    run = Drive(graph("a", "b", transitions=[{"from": "a", "to": "b", "foreach": "output"}])).start()
    assert run.complete("a", {"x": 1}).code == "FOREACH_NOT_A_LIST"


def test_a_join_in_the_next_iteration_is_a_new_instance() -> None:
    """Trap 3."""
    ways = [
        {"from": "a", "to": "b", "group": "g", "foreach": "[1, 2]"},
        {"from": "b", "to": "j", "synchronize": {"group": "g"}},
    ]
    loop = {"max_iterations": 2, "loop_back_to": "a", "timeout_path": []}
    run = Drive(graph("a", "b", task("j", loop=loop), transitions=ways)).start()
    for turn in ("x", "y"):
        run.complete("a").complete("b", f"{turn}2", index=1).complete("b", f"{turn}1")
        assert run.open("j")[0].input == [f"{turn}1", f"{turn}2"]
        run.complete("j")
    assert run.outcome == "completed"


def test_a_token_outside_the_group_passes_the_join() -> None:
    ways = [
        {"from": "a", "to": "b", "when": "output == 'plain'"},
        {"from": "a", "to": "b", "group": "g", "spawn": 2, "priority": 2},
        {"from": "b", "to": "j", "synchronize": {"group": "g"}},
    ]
    run = Drive(graph("a", "b", "j", transitions=ways)).start().complete("a", "plain").complete("b", "B")
    assert run.open("j")[0].input == "B"


def test_an_error_way_out_of_the_branch_is_not_waited_for() -> None:
    """Trap 16."""
    ways = [
        {"from": "a", "to": "b", "group": "g", "foreach": "[1, 2]"},
        {"from": "b", "to": "s", "on": "error"},
        {"from": "b", "to": "j", "synchronize": {"group": "g"}},
    ]
    run = Drive(graph("a", "b", "s", "j", transitions=ways)).start().complete("a").fail("b").complete("s")
    assert run.complete("b", "B").open("j")[0].input == ["B"]


def test_an_approval_keeps_its_branch_and_the_run_open() -> None:
    """Trap 8."""
    ways = [
        {"from": "a", "to": "h", "group": "g", "foreach": "[1]"},
        {"from": "h", "to": "j", "synchronize": {"group": "g"}},
    ]
    run = Drive(graph("a", {"id": "h", "type": "human"}, "j", transitions=ways)).start().complete("a")
    assert (run.outcome, run.open()) == (None, [])
    (approval,) = run.state.approvals
    run.send(c.DecideApproval(approval, "approved", "me"))
    assert [found.node for found in run.open()] == ["j"]


# -- any order


@given(
    results=st.lists(st.sampled_from(["x", "y", "stray", "!"]), max_size=5),
    seed=st.integers(0, 2**16),
    settles=st.booleans(),
)
def test_the_order_of_arrival_never_changes_an_all_join(results: list[str], seed: int, *, settles: bool) -> None:
    def outcome(order: list[int]) -> Json:
        run = fanned(len(results), on_sibling_failure="settle" if settles else "fail")
        tasks = run.open("b")
        for index in order:
            if tasks[index] not in run.open("b"):
                continue
            if results[index] == "!":
                run.fail("b", index=run.open("b").index(tasks[index]))
            else:
                run.answer(tasks[index], results[index])
        run.work(lambda task: task.input)
        return run.outcome, run.code, run.output, run.state.scopes[0].errors

    order = list(range(len(results)))
    random.Random(seed).shuffle(order)  # noqa: S311 - a schedule, no secret
    assert outcome(order) == outcome(list(range(len(results))))
