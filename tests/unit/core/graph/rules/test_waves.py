"""Named joins and loops: what test_named_joins.py and test_loops.py leave open."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from penstock.core.definition import check
from penstock.core.model import commands as c
from penstock.core.model import events as e
from tests.unit.core.graph.drive import EVALUATOR, Drive, graph
from tests.unit.core.graph.rules.shapes import chain, nodes_open, recorded, run_of, task, way

Json = Any


def join(name: str, *dependencies: str, **more: Json) -> dict[str, Json]:
    return task(name, dependencies=list(dependencies), wait_for_all=True, **more)


# -- named joins


def test_several_dependencies_without_wait_for_all_are_worth_a_warning() -> None:
    checked = check(graph("a", "b", task("c", dependencies=["a", "b"])), evaluator=EVALUATOR)
    assert "ARRIVALS_NOT_JOINED" in {problem.code for problem in checked.problems}
    assert checked.graph is not None
    assert checked.graph.nodes["c"].wait_for_all is False


def in_loop() -> Drive:
    """A diamond a → (b, c) → d, gone round again from d while it says so."""
    ways = [
        way("a", "b"),
        way("a", "c"),
        way("d", "a", when="output == 'again'", max_iterations=4),
        way("d", "z", priority=2),
    ]
    return run_of("a", "b", "c", join("d", "b", "c"), "z", ways=ways)


@pytest.mark.parametrize("order", list(permutations("bc")))
def test_each_turn_of_a_loop_is_joined_for_itself(order: tuple[str, ...]) -> None:
    """Traps 3 and 6."""
    run = in_loop()
    for turn in (1, 2):
        run.complete("a")
        for name in order:
            run.complete(name, f"{name}{turn}")
        assert run.open("d")[0].input == {"b": f"b{turn}", "c": f"c{turn}"}
        run.complete("d", "again" if turn == 1 else "done")
    assert nodes_open(run) == ["z"]


def test_an_unreachable_join_is_decided_in_the_decision_that_made_it_so() -> None:
    ways = [way("a", "b"), way("a", "x"), way("x", "c", when="output == 'c'"), way("x", "y", priority=2)]
    run = run_of("a", "b", "x", "y", "c", join("d", "b", "c"), ways=ways).complete("a").complete("b").complete("x")
    assert run.code is None
    assert run.complete("y").code == "JOIN_UNREACHABLE"


@pytest.mark.parametrize("last", ["fails", "ends", "times out", "is caught"])
def test_whatever_ends_the_last_other_way_the_join_is_decided_at_once(last: str) -> None:
    """Trap 17."""
    nodes: list[Json] = ["a", "b", task("x", on_no_match="end"), "c", "h", {"id": "w", "type": "wait", "wait": "10s"}]
    ways = [
        way("a", "b"),
        way("a", "x"),
        way("x", "c", when="output == 'c'"),
        way("x", "w", when="output == 'w'"),
        way("x", "h", on="error"),
        way("w", "c", when="false"),
    ]
    nodes[-1]["on_no_match"] = "end"
    run = run_of(*nodes, join("d", "b", "c", on_unreachable="proceed"), ways=ways).complete("a").complete("b", "B")
    if last in {"fails", "is caught"}:
        run.fail("x").complete("h")
    elif last == "times out":
        run.complete("x", "w")
        assert run.open("d") == []
        run.advance(10)
    else:
        run.complete("x")
    assert run.open("d")[0].input == {"b": "B"}


def test_it_waits_for_a_group_that_is_open_in_its_scope() -> None:
    ways = [
        way("a", "b"),
        way("a", "x", group="g", spawn=2),
        way("x", "c", synchronize={"group": "g"}),
    ]
    run = run_of("a", "b", "x", "c", join("d", "b", "c"), ways=ways).complete("a").complete("b", "B")
    assert run.complete("x").outcome is None
    run.complete("x").complete("c", "C")
    assert run.open("d")[0].input == {"b": "B", "c": "C"}


def test_in_a_branch_it_is_decided_when_nothing_else_is_open_in_that_branch() -> None:
    ways = [
        way("a", "f", group="g", foreach="[0, 1]"),
        way("f", "b"),
        way("f", "c", when="output == 'both'"),
        way("d", "z", synchronize={"group": "g", "on_sibling_failure": "settle"}),
    ]
    run = run_of("a", "f", "b", "c", join("d", "b", "c"), "z", ways=ways).complete("a")
    run.complete("f", "one").complete("f", "both").complete("b", 0)
    assert [event.fault.code for event in recorded(run, e.NodeFailed)] == ["JOIN_UNREACHABLE"]
    assert sorted(nodes_open(run)) == ["b", "c"]
    run.complete("b", 1).complete("c", 1).complete("d", "D")
    assert run.open("z")[0].input == ["D"]


@pytest.mark.parametrize("order", list(permutations("bx")))
def test_a_group_join_may_be_one_of_the_predecessors_of_a_named_join(order: tuple[str, ...]) -> None:
    """The group's one token comes from the nodes that it joins; it is an arrival like another."""
    ways = [
        way("a", "b", group="g", spawn=2),
        way("a", "x"),
        way("b", "d", synchronize={"group": "g"}),
        way("x", "d"),
    ]
    run = run_of("a", "b", "x", join("d", "b", "x"), ways=ways).complete("a")
    for name in order:
        run.complete(name, name)
        if name == "b":
            run.complete("b", "b2")
        if name == order[0]:
            assert run.open("d") == []
    assert [found.input for found in run.open("d")] == [{"b": ["b", "b2"], "x": "x"}]


def test_a_join_that_waits_is_cancelled_with_its_branch() -> None:
    ways = [
        way("a", "f", group="g", foreach="[0, 1]"),
        way("f", "b"),
        way("f", "c"),
        way("d", "z", synchronize={"group": "g", "wait_for": "any"}),
    ]
    run = run_of("a", "f", "b", "c", join("d", "b", "c"), "z", ways=ways).complete("a").complete("f").complete("f")
    run.complete("b", "waits", index=1).complete("b").complete("c").complete("d", "D")
    assert nodes_open(run) == ["z"]
    assert run.state.joins == {}
    assert run.complete("z").status == "closed"


def test_an_error_that_came_to_a_join_is_seen_there() -> None:
    ways = [way("a", "b"), way("a", "c"), way("b", "d", on="error")]
    look = join("d", "b", "c", input={"why": "state._last_error.code"})
    run = run_of("a", "b", "c", look, ways=ways).complete("a").complete("c", 1).fail("b")
    assert run.open("d")[0].input == {"why": "BOOM"}


# -- loops


def test_executions_are_what_is_counted() -> None:
    run = run_of(task("a", retry=3, loop={"max_iterations": 2, "timeout_path": []}), ways=[])
    run.fail("a", retryable=True).advance(1).complete("a").fail("a", retryable=True).advance(1).complete("a")
    assert (run.outcome, run.visited()) == ("completed", ["a", "a"])


def test_a_payment_that_succeeds_on_its_last_try_is_not_refunded() -> None:
    """Trap 19."""
    loop = {"condition": "output != 'paid'", "max_iterations": 5, "timeout_path": ["refund"]}
    run = run_of(task("pay", loop=loop), "ship", "refund", ways=chain("pay", "ship"))
    for answer in ["declined"] * 4 + ["paid"]:
        run.complete("pay", answer)
    assert nodes_open(run) == ["ship"]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        pytest.param({"branch": {"rules": [{"condition": "output == 1", "next_nodes": "b"}]}}, ["b"], id="a rule"),
        pytest.param(
            {"branch": {"rules": [{"condition": "false", "next_nodes": "b"}], "default": "c"}}, ["c"], id="default"
        ),
        pytest.param({"dependents": ["b", "c"]}, ["b", "c"], id="dependents"),
    ],
)
def test_a_false_condition_leaves_by_rules_then_default_then_paths(more: dict[str, Json], expected: list[str]) -> None:
    others = sorted({"b"} | set(expected))
    run = Drive(graph(task("a", loop={"condition": "false", "max_iterations": 3}, **more), *others)).start()
    assert nodes_open(run.complete("a", 1)) == expected


def test_with_a_branch_a_break_path_is_worth_a_warning() -> None:
    loop = {"condition": "false", "max_iterations": 3, "break_path": ["c"]}
    definition = graph(task("a", loop=loop, branch={"default": "b"}), "b", task("c"), transitions=[way("b", "c")])
    assert "ROUTE_DEAD" in {problem.code for problem in check(definition, evaluator=EVALUATOR).problems}


def test_a_loop_condition_that_raises_fails_the_node() -> None:
    run = run_of(task("a", loop={"condition": "output.no.such", "max_iterations": 2}), ways=[])
    assert run.complete("a", {}).code == "CONDITION_ERROR"


def test_a_loop_limit_is_caught_and_the_count_is_dropped() -> None:
    ways = [way("a", "h", on="error"), way("h", "a", when="output == 'again'", max_iterations=2, id="back")]
    run = run_of(task("a", loop={"max_iterations": 2}), "h", ways=ways, initial_node_id="a")
    run.complete("a").complete("a")
    assert nodes_open(run) == ["h"]
    run.complete("h", "again").complete("a")
    assert nodes_open(run) == ["a"]


@pytest.mark.parametrize("path", [{"timeout_path": ["out"]}, {"break_path": ["out"]}], ids=["timeout", "break"])
def test_the_count_is_dropped_by_whatever_path_the_loop_is_left(path: dict[str, Json]) -> None:
    loop = {"condition": "output == 'again'", "max_iterations": 2, **path}
    ways = [way("out", "a", when="output == 'back'", max_iterations=2), way("out", "z", priority=2)]
    run = run_of(task("a", loop=loop), "out", "z", ways=ways, initial_node_id="a").complete("a", "again")
    run.complete("a", "again" if "timeout_path" in path else "done").complete("out", "back")
    assert nodes_open(run.complete("a", "again")) == ["a"]


def test_the_count_is_dropped_when_the_branch_it_belongs_to_closes() -> None:
    loop = {"condition": "true", "max_iterations": 5}
    ways = [
        way("a", "b", group="g", foreach="[1, 2]"),
        way("b", "j", synchronize={"wait_for": "any"}),
        way("b", "s", on="error"),
    ]
    run = run_of("a", task("b", loop=loop), "s", "j", ways=ways).complete("a").complete("b").fail("b", index=1)
    assert sum(len(scope.loops) for scope in run.state.scopes.values()) == 0


def test_a_loop_around_a_fan_out_keeps_its_count_while_the_branches_work() -> None:
    ways = [way("a", "b", group="g", foreach="[1, 2]"), way("b", "j", synchronize={"group": "g"})]
    loop = {"max_iterations": 2, "loop_back_to": "a", "timeout_path": []}
    nodes: list[Json] = [task("a", input={"n": "loop.iteration"}), task("b", input={"n": "loop.iteration"})]
    run = run_of(*nodes, task("j", loop=loop, input={"n": "loop.iteration"}), ways=ways)
    for turn in (1, 2):
        assert {found.input["n"] for found in run.open()} == {turn}
        run.complete("a")
        assert [found.input["n"] for found in run.open("b")] == [turn, turn]
        run.complete("b").complete("b").complete("j")
    assert run.outcome == "completed"


def test_inner_loops_begin_anew_on_every_turn_of_the_outer_one() -> None:
    inner = {"condition": "output < 2", "max_iterations": 2}
    outer = {"max_iterations": 2, "loop_back_to": "a", "timeout_path": []}
    run = run_of(task("a", loop=inner), task("b", loop=outer), ways=chain("a", "b"))
    for output in (1, 2):
        run.complete("a", output)
    run.complete("b")
    for output in (1, 2):
        run.complete("a", output)
    assert run.complete("b").outcome == "completed"


def test_a_back_edge_counts_per_scope() -> None:
    ways = [
        way("a", "b", group="g", foreach="[1, 2]"),
        way("b", "b2"),
        way("b2", "b", when="output == 'again'", max_iterations=2),
        way("b2", "j", priority=2, synchronize={"group": "g"}),
    ]
    run = run_of("a", "b", "b2", "j", ways=ways).complete("a")
    run.work(lambda found: "again" if found.node != "j" else "J")
    assert (run.outcome, run.visited().count("b")) == ("completed", 4)


def test_a_pause_in_a_loop_loses_nothing() -> None:
    run = in_loop().complete("a")
    held = run.open()
    run.send(c.Pause())
    for found in held:
        run.answer(found, found.node)
    run.send(c.Resume())
    assert run.open("d")[0].input == {"b": "b", "c": "c"}
