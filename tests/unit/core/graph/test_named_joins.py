"""Named joins, and those that can never be met: graph-rules, "Joins"."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.model import commands as c
from tests.unit.core.graph.drive import Drive, graph

Json = Any


def task(name: str, **more: Json) -> dict[str, Json]:
    return {"id": name, "type": "task", "queue": "q", **more}


def diamond(*, wait: bool = True, **more: Json) -> Drive:
    """`a` leads to `b`, and if its output is "both" to `c`; both lead to `d`."""
    ways = [{"from": "a", "to": "b"}, {"from": "a", "to": "c", "when": "output == 'both'"}]
    join = task("d", dependencies=["b", "c"], wait_for_all=wait, **more)
    return Drive(graph("a", "b", "c", join, transitions=ways)).start()


def test_without_wait_for_all_there_is_one_execution_per_arrival() -> None:
    run = diamond(wait=False).complete("a", "both").complete("c", 1).complete("b", 2)
    assert [found.input for found in run.open("d")] == [1, 2]


@pytest.mark.parametrize("order", list(permutations("bc")))
def test_it_runs_once_when_every_predecessor_has_arrived(order: tuple[str, ...]) -> None:
    run = diamond().complete("a", "both").complete(order[0], order[0])
    assert run.open("d") == []
    run.complete(order[1], order[1])
    assert [list(found.input.items()) for found in run.open("d")] == [[("b", "b"), ("c", "c")]]


def test_a_predecessor_that_was_never_chosen_fails_it_at_once_and_is_named() -> None:
    """Trap 17."""
    run = diamond().complete("a", "one").complete("b", 1)
    assert (run.outcome, run.code) == ("failed", "JOIN_UNREACHABLE")
    assert run.state.fault is not None
    assert run.state.fault.details == {"missing": ["c"]}


def test_it_may_proceed_with_those_that_came() -> None:
    run = diamond(on_unreachable="proceed").complete("a", "one").complete("b", 1)
    assert run.open("d")[0].input == {"b": 1}


def test_an_unreachable_join_is_caught_once() -> None:
    ways = [{"from": "a", "to": name} for name in "bc"]
    ways += [{"from": "a", "to": "e", "when": "output == 'never'"}, {"from": "d", "to": "h", "on": "error"}]
    join = task("d", dependencies=["b", "c", "e"], wait_for_all=True)
    run = Drive(graph("a", "b", "c", "e", join, "h", transitions=ways)).start()
    run.complete("a").complete("b").complete("c")
    assert [found.node for found in run.open()] == ["h"]


def test_it_waits_while_anything_else_is_open_in_its_scope() -> None:
    ways = [{"from": "a", "to": name} for name in "bx"] + [{"from": "x", "to": "c", "when": "output == 'late'"}]
    join = task("d", dependencies=["b", "c"], wait_for_all=True)
    run = Drive(graph("a", "b", "x", "c", join, transitions=ways)).start().complete("a").complete("b")
    assert run.outcome is None
    assert [found.node for found in run.complete("x", "late").complete("c").open()] == ["d"]


@pytest.mark.parametrize("order", list(permutations("bx")))
def test_of_two_joins_that_wait_in_vain_the_one_that_proceeds_goes_first(order: tuple[str, ...]) -> None:
    """It may lead to the other, whichever of them was reached first."""
    ways = [{"from": "a", "to": name} for name in "bx"]
    ways += [{"from": "a", "to": "never", "when": "output == 'never'"}]
    last = task("j", dependencies=["x", "p"], wait_for_all=True)
    first = task("p", dependencies=["b", "never"], wait_for_all=True, on_unreachable="proceed")
    run = Drive(graph("a", "b", "x", "never", last, first, transitions=ways)).start().complete("a")
    for name in order:
        run.complete(name, name)
    assert [found.node for found in run.open()] == ["p"]
    assert run.complete("p", "P").open("j")[0].input == {"x": "x", "p": "P"}


def twice() -> Drive:
    """Two forks lead to `b` and `c` each, which lead to one join: two waves."""
    ways = [{"from": "a", "to": name} for name in "xy"]
    ways += [{"from": fork, "to": name} for fork in "xy" for name in "bc"]
    join = task("d", dependencies=["b", "c"], wait_for_all=True)
    run = Drive(graph("a", "x", "y", "b", "c", join, transitions=ways)).start()
    return run.complete("a").complete("x").complete("y")


@given(order=st.permutations(["b", "b", "c", "c"]))
def test_a_second_arrival_from_one_predecessor_starts_the_next_wave(order: list[str]) -> None:
    """Trap 6, in every order."""
    run = twice()
    for name in order:
        run.complete(name, name)
    assert [found.input for found in run.open("d")] == [{"b": "b", "c": "c"}] * 2
    assert run.work(lambda _: None).outcome == "completed"


def test_each_loop_iteration_is_an_instance_of_its_own_and_the_way_back_does_not_wait() -> None:
    """Trap 3."""
    loop = {"max_iterations": 3, "loop_back_to": "d", "timeout_path": []}
    ways = [{"from": "a", "to": "b"}, {"from": "a", "to": "c"}, {"from": "d", "to": "e"}]
    join = task("d", dependencies=["b", "c"], wait_for_all=True)
    run = Drive(graph("a", "b", "c", join, task("e", loop=loop), transitions=ways)).start()
    run.complete("a").complete("b").complete("c")
    for _ in range(3):
        run.complete("d").complete("e")
    assert (run.outcome, run.visited().count("d")) == ("completed", 3)


def test_each_branch_has_an_instance_of_its_own() -> None:
    ways = [{"from": "a", "to": "f", "foreach": "[1, 2]"}, {"from": "f", "to": "b"}, {"from": "f", "to": "c"}]
    join = task("d", dependencies=["b", "c"], wait_for_all=True)
    run = Drive(graph("a", "f", "b", "c", join, transitions=ways)).start().complete("a").complete("f").complete("f")
    run.complete("b", "b0").complete("c", "c1", index=1)
    assert run.open("d") == []
    run.complete("b", "b1").complete("c", "c0")
    assert sorted(found.input["b"] + found.input["c"] for found in run.open("d")) == ["b0c0", "b1c1"]


def test_a_join_that_was_met_stays_met_over_a_pause() -> None:
    run = diamond().complete("a", "both").complete("b", 1)
    last = run.open("c")[0]
    run.send(c.Pause())
    run.answer(last, 2)
    run.send(c.Resume())
    assert run.open("d")[0].input == {"b": 1, "c": 2}
