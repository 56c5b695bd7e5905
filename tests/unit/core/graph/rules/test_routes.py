"""Where tokens go: what test_routing.py leaves open, and routing inside groups."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.core.graph.drive import Drive, graph
from tests.unit.core.graph.rules.shapes import chain, nodes_open, run_of, task, undone, way

Json = Any


def test_ties_keep_the_order_of_declaration() -> None:
    ways = [way("a", name, priority=2) for name in "dbc"]
    assert nodes_open(run_of("a", "b", "c", "d", ways=ways).complete("a")) == ["d", "b", "c"]


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        pytest.param({"when": "output == 1"}, ["b", "b"], id="the group matches first"),
        pytest.param({"when": "output == 2"}, ["c"], id="the plain one does"),
    ],
)
def test_first_match_takes_one_way_and_opens_at_most_its_group(first: dict[str, Json], expected: list[str]) -> None:
    ways = [way("a", "b", group="g", spawn=2, **first), way("a", "c"), way("a", "b", group="g", spawn=5)]
    run = run_of(task("a", fan_out="first_match"), "b", "c", ways=ways).complete("a", 1)
    assert nodes_open(run) == expected


def test_first_match_may_come_to_the_default() -> None:
    ways = [way("a", "b", default=True), way("a", "c", when="false")]
    assert nodes_open(run_of(task("a", fan_out="first_match"), "b", "c", ways=ways).complete("a")) == ["b"]


def test_fan_out_all_falls_back_to_the_default_in_a_branch_of_its_own() -> None:
    ways = [way("a", "b", default=True), way("a", "c", when="false")]
    run = run_of(task("a", fan_out="all"), "b", "c", ways=ways).complete("a")
    assert nodes_open(run) == ["b"]
    assert [group.name for group in run.state.groups.values()] == ["a"]


def test_a_condition_of_a_later_tier_is_not_asked() -> None:
    ways = [way("a", "b"), way("a", "c", priority=2, when="output.no.such == 1")]
    assert nodes_open(run_of("a", "b", "c", ways=ways).complete("a")) == ["b"]


def test_one_condition_that_raises_fails_the_node_although_another_of_its_tier_holds() -> None:
    ways = [way("a", "b"), way("a", "c", when="output.no.such == 1")]
    assert run_of("a", "b", "c", ways=ways).complete("a", {}).code == "CONDITION_ERROR"


def test_a_routing_failure_in_a_branch_ends_that_branch() -> None:
    ways = [
        way("a", "b", group="g", foreach="output"),
        way("b", "j", when="output == 1", synchronize={"group": "g", "on_sibling_failure": "settle"}),
    ]
    run = run_of("a", "b", "j", ways=ways).complete("a", [1, 2]).complete("b", 2, index=1).complete("b", 1)
    assert run.open("j")[0].input == [1]
    assert [error["error"]["code"] for error in run.state.scopes[0].errors["g"]] == ["NO_MATCH"]


def agent(**more: Json) -> Drive:
    branch = {"type": "agent_driven", "available_next_nodes": [f"n{i}" for i in range(12)], "default": "n0"}
    nodes = [task(f"n{i}") for i in range(12)]
    return Drive(graph(task("a", branch=branch, **more), *nodes)).start()


def test_a_route_that_is_not_allowed_leaves_an_effect_that_is_compensated() -> None:
    run = agent(compensate={"action": "undo"})
    run.answer(run.open()[0], "did it", next_nodes=("elsewhere",))
    assert run.code == "ROUTE_NOT_ALLOWED"
    assert undone(run) == [("a", "did it")]


def test_a_route_that_is_not_allowed_is_not_retried_without_a_policy_and_can_be_caught() -> None:
    branch = {"type": "agent_driven", "available_next_nodes": ["b"], "default": "b"}
    run = run_of(task("a", branch=branch), "b", "h", ways=[way("a", "h", on="error")])
    run.answer(run.open()[0], 1, next_nodes=("h",))
    assert nodes_open(run) == ["h"]


def test_an_agent_may_choose_ten_ways_and_no_more() -> None:
    names = tuple(f"n{i}" for i in range(11))
    run = agent()
    assert len(run.answer(run.open()[0], 1, next_nodes=names[:10]).open()) == 10
    run = agent()
    assert run.answer(run.open()[0], 1, next_nodes=names).code == "LIMIT_MAX_FANOUT"
    run = agent(limits={"max_fanout": 11})
    assert len(run.answer(run.open()[0], 1, next_nodes=names).open()) == 11


# -- after a failure


@pytest.mark.parametrize(
    ("ways", "expected"),
    [
        pytest.param([way("a", "h", on="error"), way("a", "b")], ["h"], id="on error"),
        pytest.param([way("a", "h", on="error", when="state._last_error.code == 'BOOM'")], ["h"], id="by its code"),
        pytest.param([way("a", "h", on="error", when="state._last_error.code == 'X'")], [], id="another code"),
        pytest.param(
            [way("a", "h", on="error", priority=2), way("a", "b", when="state._last_error.code == 'BOOM'")],
            ["b"],
            id="tiers among those that catch",
        ),
        pytest.param([way("a", "b", default=True)], [], id="a default does not catch"),
        pytest.param([way("a", "b", when="true")], [], id="a condition that reads no error does not catch"),
    ],
)
def test_after_the_last_attempt_only_those_that_ask_for_it_catch(
    ways: list[dict[str, Json]], expected: list[str]
) -> None:
    names = dict.fromkeys(way["to"] for way in ways)
    run = run_of("a", *names, ways=ways).fail("a")
    assert nodes_open(run) == expected
    assert run.outcome == (None if expected else "failed")


def test_nothing_catches_before_the_last_attempt() -> None:
    run = run_of(task("a", retry=2), "h", ways=[way("a", "h", on="error")]).fail("a", retryable=True)
    assert run.open() == []
    assert nodes_open(run.advance(1).fail("a", retryable=True)) == ["h"]


def test_an_error_way_may_open_a_group_and_its_branches_see_the_error() -> None:
    ways = [way("a", "h", on="error", spawn=2, group="g")]
    run = run_of("a", task("h", input={"why": "state._last_error.code"}), ways=ways).fail("a")
    assert [found.input for found in run.open("h")] == [{"why": "BOOM"}] * 2


def branch_that_catches(**more: Json) -> Drive:
    """In each branch `b` fails or arrives; a failure arrives too, by the same join."""
    sync = {"synchronize": {"group": "g"}}
    ways = [
        way("a", "b", group="g", foreach="[1, 2]"),
        way("b", "j", **sync),
        way("b", "j", on="error", id="caught", **sync),
    ]
    return run_of("a", task("b", **more), "j", ways=ways).complete("a")


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_an_error_way_inside_a_branch_may_lead_to_the_join(order: tuple[int, int]) -> None:
    run = branch_that_catches()
    tasks = run.open("b")
    for index in order:
        if index:
            run.fail("b", index=run.open("b").index(tasks[1]))
        else:
            run.answer(tasks[0], "fine")
    assert run.open("j")[0].input == ["fine", None]


def test_the_last_error_is_never_part_of_a_branchs_output() -> None:
    ways = [
        way("a", "b", group="g", foreach="[1]"),
        way("b", "h", on="error"),
        way("h", "j", synchronize={"group": "g"}),
    ]
    run = run_of("a", "b", task("h", output={"saved": "output"}), "j", ways=ways).complete("a").fail("b")
    assert run.complete("h", "H").open("j")[0].input == [{"saved": "H"}]


def test_the_last_error_of_a_failed_join_is_seen_by_its_handler() -> None:
    ways = [
        way("a", "b", group="g", foreach="[1]"),
        way("b", "j", synchronize={"group": "g"}),
        way("j", "h", on="error"),
    ]
    look = task("h", input={"code": "state._last_error.code"})
    assert run_of("a", "b", "j", look, ways=ways).complete("a").fail("b").open("h")[0].input == {"code": "BOOM"}


def test_the_last_error_is_dropped_at_the_next_success_and_stays_over_a_retry() -> None:
    nodes: list[Json] = ["a", task("h", retry=2, input={"seen": "has(state._last_error)"}), task("b")]
    nodes[2]["input"] = {"seen": "has(state._last_error)"}
    run = run_of(*nodes, ways=[way("a", "h", on="error"), *chain("h", "b")]).fail("a")
    run.fail("h", retryable=True).advance(1)
    assert run.open("h")[0].input == {"seen": True}
    assert run.complete("h").open("b")[0].input == {"seen": False}
