"""What flows where nobody mapped anything: graph-rules, "Data that nobody mapped"."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from tests.unit.core.graph.drive import Drive, graph

Json = Any


def task(name: str, **more: Json) -> dict[str, Json]:
    return {"id": name, "type": "task", "queue": "q", **more}


def test_an_entry_is_given_the_runs_input() -> None:
    assert Drive(graph("a"), {"x": 1}).start().open()[0].input == {"x": 1}


def test_a_node_is_given_its_predecessors_output() -> None:
    run = Drive(graph("a", "b", transitions=[{"from": "a", "to": "b"}])).start().complete("a", [1])
    assert run.open("b")[0].input == [1]


@pytest.mark.parametrize("order", list(permutations("bcd")))
def test_a_named_join_is_given_its_predecessors_outputs_in_declared_order(order: tuple[str, ...]) -> None:
    join = task("e", dependencies=["d", "b", "c"], wait_for_all=True)
    ways = [{"from": "a", "to": name} for name in "bcd"]
    run = Drive(graph("a", "b", "c", "d", join, transitions=ways)).start().complete("a")
    for name in order:
        run.complete(name, name.upper())
    assert list(run.open("e")[0].input.items()) == [("d", "D"), ("b", "B"), ("c", "C")]


def test_a_group_join_is_given_the_merged_value_and_a_branch_its_item() -> None:
    ways = [{"from": "a", "to": "b", "group": "g", "foreach": "[5, 6]"}, {"from": "b", "to": "c", "synchronize": {}}]
    run = Drive(graph("a", "b", "c", transitions=ways)).start().complete("a")
    assert [found.input for found in run.open("b")] == [5, 6]
    run.complete("b", "six", index=1).complete("b", "five")
    assert run.open("c")[0].input == ["five", "six"]


def test_a_loop_back_is_given_the_last_output() -> None:
    run = Drive(graph(task("a", loop={"condition": "output < 2", "max_iterations": 3})), 0).start().complete("a", 1)
    assert run.open("a")[0].input == 1


def test_without_an_output_mapping_the_state_is_untouched() -> None:
    run = Drive(graph("a", "b", transitions=[{"from": "a", "to": "b"}])).start().complete("a", {"x": 1})
    assert run.state.scopes[0].data == {}
    assert run.state.scopes[0].nodes["a"]["output"] == {"x": 1}


def forked_branch(*, mapped: bool) -> Drive:
    """One branch, forked inside, so that it arrives twice."""
    sync = {"synchronize": {"group": "g"}}
    ways = [
        {"from": "a", "to": "f", "group": "g"},
        {"from": "f", "to": "x"},
        {"from": "f", "to": "y"},
        {"from": "y", "to": "j", **sync},
        {"from": "x", "to": "j", **sync},
    ]
    return Drive(
        graph("a", "f", "y", task("x", **({"output": {"n": "output"}} if mapped else {})), "j", transitions=ways)
    )


@pytest.mark.parametrize("order", list(permutations("xy")))
@pytest.mark.parametrize("mapped", [True, False])
def test_a_branchs_output_is_what_a_mapping_wrote_else_its_arrivals_by_source(
    order: tuple[str, ...], *, mapped: bool
) -> None:
    run = forked_branch(mapped=mapped).start().complete("a").complete("f")
    for name in order:
        run.complete(name, name.upper())
    found = run.open("j")[0].input[0]
    assert list(found.items()) == ([("n", "X")] if mapped else [("y", "Y"), ("x", "X")])


@pytest.mark.parametrize("order", list(permutations("bc")))
def test_several_ends_are_an_object_in_declared_order(order: tuple[str, ...]) -> None:
    run = Drive(graph("a", "c", "b", transitions=[{"from": "a", "to": "b"}, {"from": "a", "to": "c"}])).start()
    run.complete("a")
    for name in order:
        run.complete(name, name.upper())
    assert list(run.output.items()) == [("c", "C"), ("b", "B")]


def test_a_node_that_ended_more_than_once_gives_a_list() -> None:
    ways = [{"from": "a", "to": name} for name in "bc"] + [{"from": name, "to": "d"} for name in "bc"]
    run = Drive(graph("a", "b", "c", "d", transitions=ways)).start().complete("a").complete("b").complete("c")
    run.complete("d", 1).complete("d", 2)
    assert run.output == {"d": [1, 2]}


def test_one_end_is_the_output() -> None:
    assert Drive(graph("a")).start().complete("a", 3).output == 3
