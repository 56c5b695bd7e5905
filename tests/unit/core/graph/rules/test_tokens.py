"""Tokens, scopes and the data that nobody mapped: what test_scopes.py and test_data.py leave open."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from penstock.core.model import commands as c
from penstock.core.model import events as e
from tests.unit.core.graph.drive import Drive, graph
from tests.unit.core.graph.rules.shapes import asked, chain, nodes_open, recorded, run_of, task, way

Json = Any


def test_a_token_is_one_visit_of_one_node() -> None:
    run = run_of(task("a", loop={"max_iterations": 3, "timeout_path": []}), ways=[])
    seen = []
    for _ in range(3):
        seen += [found.token for found in run.open("a")]
        run.complete("a")
    assert len(set(seen)) == 3


@pytest.mark.parametrize(
    ("nodes", "ways"),
    [
        pytest.param([task("a", dependents=["b", "c"]), "b", "c"], [], id="dependents"),
        pytest.param(
            [task("a", branch={"rules": [{"condition": "true", "next_nodes": ["b", "c"]}]}), "b", "c"],
            [],
            id="next_nodes of a rule",
        ),
        pytest.param(["a", "b", "c"], [way("a", "b", priority=3), way("a", "c", priority=3)], id="equal priorities"),
        pytest.param([task("a", branch={"default": ["b", "c"]}), "b", "c"], [], id="default of a branch"),
    ],
)
def test_several_targets_without_a_group_share_one_scope(nodes: list[Json], ways: list[dict[str, Json]]) -> None:
    run = run_of(*nodes, ways=ways).complete("a")
    assert nodes_open(run) == ["b", "c"]
    assert {token.scope for token in run.state.tokens.values()} == {0}


def test_branches_are_numbered_by_declaration_and_not_by_priority() -> None:
    nodes = [task("a", fan_out="all"), *(task(name, input={"i": "_branch.index"}) for name in "bc")]
    run = run_of(*nodes, ways=[way("a", "b", priority=2), way("a", "c", priority=1)]).complete("a")
    assert {found.node: found.input["i"] for found in run.open()} == {"b": 0, "c": 1}


def test_each_foreach_of_a_group_names_its_own_item() -> None:
    nodes: list[Json] = ["a", task("b", input={"it": "_branch.order"}), task("c", input={"it": "_branch.refund"})]
    ways = [
        way("a", "b", group="g", foreach={"in": "[1]", "item": "order"}),
        way("a", "c", group="g", foreach={"in": "[2]", "item": "refund"}),
    ]
    run = run_of(*nodes, ways=ways).complete("a")
    assert {found.node: found.input for found in run.open()} == {"b": {"it": 1}, "c": {"it": 2}}


@pytest.mark.parametrize("spelling", ["nodes", "ctx"])
def test_a_nodes_output_and_metadata_are_read_by_either_name(spelling: str) -> None:
    look = task("b", input={"out": f"{spelling}.a.output.x", "ms": f"{spelling}.a.metadata.ms"})
    run = run_of("a", look, ways=chain("a", "b"))
    found = run.open("a")[0]
    run.send(c.TaskResult(found.token, 1, found.nonce, "completed", {"x": 1}, metadata={"ms": 7}))
    assert run.open("b")[0].input == {"out": 1, "ms": 7}


def test_the_latest_completion_is_the_nodes_output() -> None:
    node = task("a", loop={"condition": "output < 3", "max_iterations": 5})
    run = run_of(node, task("b", input={"a": "nodes.a.output"}), ways=chain("a", "b"))
    for number in (1, 2, 3):
        run.complete("a", number)
    assert run.open("b")[0].input == {"a": 3}


def test_an_unjoined_groups_outputs_are_those_of_its_last_instance() -> None:
    ways = [way("a", "b", group="g", foreach="output"), way("a", "c")]
    loop = {"max_iterations": 2, "loop_back_to": "a", "timeout_path": []}
    run = run_of("a", "b", task("c", loop=loop), ways=ways, output={"all": "_branches.g"})
    for turn in ("x", "y"):
        run.complete("a", [1, 2]).complete("b", f"{turn}2", index=1).complete("b", f"{turn}1").complete("c")
    assert run.output == {"all": ["y1", "y2"]}


def test_two_arrivals_from_one_node_in_one_branch_do_not_depend_on_their_order() -> None:
    ways = [
        way("a", "f", group="g"),
        *(way("f", name) for name in "xy"),
        *(way(name, "w") for name in "xy"),
        way("w", "j", synchronize={"group": "g"}),
    ]
    merged = []
    for order in permutations([0, 1]):
        run = run_of("a", "f", "x", "y", "w", "j", ways=ways).complete("a").complete("f").complete("x", "X")
        tasks = run.complete("y", "Y").open("w")
        for index in order:
            run.answer(tasks[index], tasks[index].input)
        merged.append(run.open("j")[0].input)
    assert merged[0] == merged[1]


def test_a_branch_whose_mapping_deleted_all_it_wrote_has_an_empty_output() -> None:
    ways = [way("a", "b", group="g"), way("b", "c"), way("c", "j", synchronize={"group": "g"})]
    nodes: list[Json] = ["a", task("b", output={"x": "output"}), task("c", output={"delete": ["x"]}), "j"]
    run = run_of(*nodes, ways=ways).complete("a").complete("b", 1).complete("c", "payload")
    assert run.open("j")[0].input == [{}]


def test_after_a_person_the_payload_is_the_input_and_the_decision() -> None:
    human: dict[str, Json] = {"id": "h", "type": "human", "input": {"amount": "nodes.a.output.n"}}
    run = run_of("a", human, "b", ways=chain("a", "h", "b")).complete("a", {"n": 3, "other": 1})
    run.send(c.DecideApproval(asked(run)[0], "approved", "boss", "fine"))
    assert list(run.open("b")[0].input.items()) == [
        ("amount", 3),
        ("decision", "approved"),
        ("comments", "fine"),
        ("decided_by", "boss"),
        ("decided_at", "1970-01-01T00:00:01+00:00"),
    ]


def test_an_item_that_is_null_is_still_the_branchs_payload() -> None:
    ways = [way("a", "b", foreach="output")]
    run = run_of("a", "b", ways=ways).complete("a", [None, 1])
    assert [found.input for found in run.open("b")] == [None, 1]


# -- the order at a completion


def test_the_output_mapping_comes_before_the_state_schema() -> None:
    node = task("a", output={"x": "output.no.such"})
    run = run_of(node, ways=[], state_schema={"required": ["never"]}).complete("a", {})
    assert run.code == "MAPPING_ERROR"


def test_what_was_stored_is_seen_by_the_loop_and_the_loop_comes_before_the_branch() -> None:
    node = task(
        "a",
        output={"n": "output"},
        loop={"condition": "state.n < 2", "max_iterations": 5},
        branch={"rules": [{"condition": "true", "next_nodes": "b"}]},
    )
    run = Drive(graph(node, "b")).start().complete("a", 1)
    assert nodes_open(run) == ["a"]
    assert nodes_open(run.complete("a", 2)) == ["b"]


def test_transitions_come_before_joins() -> None:
    """A branch that still goes on has not arrived, although one of its ways leads to the join."""
    ways = [way("a", "b", group="g"), way("b", "c"), way("b", "j", synchronize={"group": "g"})]
    run = run_of("a", "b", "c", "j", ways=ways).complete("a").complete("b")
    assert nodes_open(run) == ["c"]
    assert nodes_open(run.complete("c")) == ["j"]


@pytest.mark.parametrize("order", list(permutations("xyz")))
def test_objects_that_the_engine_builds_have_their_keys_in_declared_order(order: tuple[str, ...]) -> None:
    run = Drive(graph("z", "x", "y", transitions=[])).start()
    for name in order:
        run.complete(name, name)
    assert list(run.output) == ["z", "x", "y"]
    assert recorded(run, e.RunCompleted) == [e.RunCompleted({"z": "z", "x": "x", "y": "y"})]


@pytest.mark.parametrize("grouped", [True, False], ids=["branch", "root"])
def test_what_forks_wrote_has_the_same_bytes_in_any_order(*, grouped: bool) -> None:
    nodes: list[Json] = ["a", "f", *(task(name, output={name: "output"}) for name in "xy")]
    ways = [way("a", "f", **({"group": "g"} if grouped else {})), way("f", "x"), way("f", "y")]
    if grouped:
        ways += [way(name, "j", synchronize={"group": "g"}) for name in "xy"]
    else:
        nodes.append(task("j", dependencies=["x", "y"], wait_for_all=True, input={"all": "state"}))
    seen = []
    for order in permutations("xy"):
        run = run_of(*nodes, *(["j"] if grouped else []), ways=ways).complete("a").complete("f")
        for name in order:
            run.complete(name, name)
        seen.append(repr(run.open("j")[0].input))
    assert seen[0] == seen[1]
