"""Advanced branching and synchronization: WCP 6 to 9, 28 to 33, 37, 38, 41, 42."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.model import events as e
from tests.unit.core.graph.drive import Drive
from tests.unit.core.graph.patterns.page import example, flow, graph, open_nodes

Json = Any


def fanned(**join: Json) -> Drive:
    """`a` to three `b`, joined at `j`."""
    return graph({"a": {}, "b": {}, "j": {"fan_in": join}}, {"from": "a", "to": "b", "spawn": 3}, way("b", "j"))


def way(source: str, to: str, **more: Json) -> Json:
    return {"from": source, "to": to, **more}


def late_outputs(run: Drive) -> list[Json]:
    """What was put out and used no more."""
    return [event.output for event, _ in run.log if isinstance(event, e.NodeCompleted) and not event.applied]


def test_wcp_06_multi_choice() -> None:
    chosen = [way("a", name, when=f"'{name}' in output") for name in "bcd"]
    run = graph({name: {} for name in "abcd"}, *chosen).complete("a", ["b", "d"])
    assert open_nodes(run) == ["b", "d"]


@pytest.mark.parametrize("chosen", [["b"], ["b", "d"], ["b", "c", "d"]])
def test_wcp_07_structured_synchronizing_merge(chosen: list[str]) -> None:
    nodes = {"a": {"fan_out": "all"}, "b": {}, "c": {}, "d": {}, "j": {"fan_in": "all"}}
    split = [way("a", name, when=f"'{name}' in output") for name in "bcd"]
    run = graph(nodes, *split, *(way(name, "j") for name in "bcd")).complete("a", chosen)
    for name in chosen:
        assert run.open("j") == []
        run.complete(name, name)
    assert [task.input for task in run.open()] == [chosen]


def test_wcp_08_multi_merge() -> None:
    run = flow("a -> b -> d", "a -> c -> d").work(lambda task: task.node)
    assert run.visited().count("d") == 2


def test_wcp_09_structured_discriminator() -> None:
    run = example(9).complete("ask").complete("south", "S")
    assert open_nodes(run) == ["north", "use"]
    run.complete("use", "used")
    assert (run.outcome, run.status) == ("completed", "running")
    run.complete("north", "late")
    assert (run.visited().count("use"), late_outputs(run), run.status) == (1, ["late"], "closed")


def test_wcp_28_blocking_discriminator() -> None:
    run = example(28).complete("ask").complete("north", "N")
    assert [task.input for task in run.open("use")] == [["N"]]
    assert open_nodes(run.complete("use")) == ["south"]
    assert open_nodes(run.complete("south")) == ["again"]
    assert open_nodes(run.complete("again", {"more": True})) == ["ask"]
    run.complete("ask").complete("south").complete("use").complete("north").complete("again", {"more": False})
    assert (run.outcome, run.visited().count("use")) == ("completed", 2)


def test_wcp_29_cancelling_discriminator() -> None:
    run = fanned(wait_for="any").complete("a").complete("b", "first")
    (task,) = run.open()
    assert (task.node, task.input) == ("j", ["first"])
    assert run.kinds().count("task.cancelled") == 2


def test_wcp_30_structured_partial_join() -> None:
    run = fanned(m_of_n=2, on_early_complete="abandon").complete("a").complete("b", 1)
    assert open_nodes(run) == ["b", "b"]
    run.complete("b", 2)
    assert open_nodes(run) == ["b", "j"]
    run.complete("b", 3).complete("j")
    assert (late_outputs(run), run.visited().count("j"), run.status) == ([3], 1, "closed")


def test_wcp_31_blocking_partial_join() -> None:
    run = example(31).complete("ask").complete("north", 1)
    assert run.open("use") == []
    assert [task.input for task in run.complete("west", 2).open("use")] == [[1, 2]]
    assert open_nodes(run.complete("use")) == ["south"]
    assert open_nodes(run.complete("south", 3)) == ["again"]
    assert open_nodes(run.complete("again", {"more": True})) == ["ask"]


def test_wcp_32_cancelling_partial_join() -> None:
    run = fanned(m_of_n=2).complete("a").complete("b", 1).complete("b", 2)
    (task,) = run.open()
    assert (task.node, task.input) == ("j", [1, 2])


def test_wcp_33_generalized_and_join() -> None:
    both = {"dependencies": ["left", "right"], "wait_for_all": True}
    ways = ("l1 -> left -> both", "l2 -> left", "r1 -> right -> both", "r2 -> right")
    run = flow(*ways, both=both).complete("l1").complete("l2").complete("left", 1).complete("left", 2)
    assert open_nodes(run) == ["r1", "r2"]
    run.complete("r1").complete("right", "x")
    assert [task.input for task in run.open("both")] == [{"left": 1, "right": "x"}]
    run.complete("r2").complete("right", "y")
    assert run.open("both")[1].input == {"left": 2, "right": "y"}


@pytest.mark.parametrize("chosen", [["air"], ["air", "road"], ["air", "rail", "road"]])
def test_wcp_37_local_synchronizing_merge(chosen: list[str]) -> None:
    run = example(37).complete("choose", {name: name in chosen for name in ("air", "rail", "road")})
    for name in chosen:
        assert run.open("report") == []
        run.complete(name, name)
    assert [task.input for task in run.open("report")] == [{name: name for name in chosen}]


def test_wcp_38_general_synchronizing_merge() -> None:
    """Nobody can tell from the graph whether `c` arrives, or how often `b` turns before it does."""
    merge = {"dependencies": ["b", "c"], "wait_for_all": True, "on_unreachable": "proceed"}
    run = graph(
        {"a": {}, "b": {}, "c": {}, "x": {}, "d": merge},
        way("a", "b"),
        way("a", "c"),
        way("b", "b", when="output == 'again'", max_iterations=5),
        way("b", "d", priority=2),
        way("c", "x", when="output == 'elsewhere'"),
        way("c", "d", priority=2),
    )
    run.complete("a").complete("b", "again").complete("c", "elsewhere").complete("b", "again")
    assert open_nodes(run) == ["x", "b"]
    run.complete("b", "done")
    assert open_nodes(run) == ["x"]
    assert [task.input for task in run.complete("x").open("d")] == [{"b": "done"}]


def test_wcp_41_thread_merge() -> None:
    run = fanned(wait_for="all").complete("a").complete("b", 1).complete("b", 2)
    assert open_nodes(run) == ["b"]
    assert open_nodes(run.complete("b", 3)) == ["j"]


def test_wcp_42_thread_split() -> None:
    run = graph({"a": {}, "b": {}}, way("a", "b", spawn=3)).complete("a", "same")
    assert [task.input for task in run.open("b")] == ["same"] * 3
