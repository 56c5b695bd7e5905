"""Loops in both spellings: graph-rules, "Loops"."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.core.graph.drive import Drive, graph

Json = Any


def task(name: str, **more: Json) -> dict[str, Json]:
    return {"id": name, "type": "task", "queue": "q", **more}


def looping(times: int = 3, **more: Json) -> Drive:
    loop = {"condition": "output == 'again'", "max_iterations": times, **more}
    node = task("a", loop=loop, dependents=[] if "break_path" in more else ["next"])
    named = {name for path in ("break_path", "timeout_path") for name in more.get(path, ())}
    others = sorted(named | ({"next"} if "break_path" not in more else set()))
    return Drive(graph(node, *others)).start()


def test_true_below_the_limit_goes_back() -> None:
    run = looping().complete("a", "again").complete("a", "again")
    assert [found.node for found in run.open()] == ["a"]


@pytest.mark.parametrize(
    ("outputs", "more", "expected"),
    [
        pytest.param(["done"], {}, "next", id="false leaves by dependents"),
        pytest.param(["done"], {"break_path": ["out"]}, "out", id="false leaves by break_path"),
        pytest.param(["again"] * 3, {"timeout_path": ["late"]}, "late", id="true at the limit takes timeout_path"),
        pytest.param(
            ["again", "again", "done"], {"timeout_path": ["late"]}, "next", id="trap 19: success at the limit"
        ),
    ],
)
def test_the_condition_is_asked_before_the_limit(outputs: list[str], more: dict[str, Json], expected: str) -> None:
    run = looping(**more)
    for output in outputs:
        run.complete("a", output)
    assert [found.node for found in run.open()] == [expected]


def test_without_a_timeout_path_the_limit_fails() -> None:
    run = looping(2).complete("a", "again").complete("a", "again")
    assert (run.outcome, run.code) == ("failed", "LOOP_LIMIT")


def test_an_empty_timeout_path_ends_the_token() -> None:
    run = looping(1, timeout_path=[]).complete("a", "again")
    assert (run.outcome, run.output) == ("completed", "again")


def test_without_a_condition_it_always_goes_back_to_itself() -> None:
    run = Drive(graph(task("a", loop={"max_iterations": 3, "timeout_path": []}))).start()
    for number in range(3):
        run.complete("a", number)
    assert (run.outcome, run.visited()) == ("completed", ["a", "a", "a"])


def test_with_a_branch_its_rules_route_on_break() -> None:
    branch = {"rules": [{"condition": "output == 'x'", "next_nodes": "b"}], "default": "c"}
    node = task("a", loop={"condition": "output == 'again'", "max_iterations": 5, "break_path": ["d"]}, branch=branch)
    for output, expected in (("x", "b"), ("y", "c")):
        run = Drive(graph(node, "b", "c", "d")).start().complete("a", "again").complete("a", output)
        assert [found.node for found in run.open()] == [expected]


def test_the_iteration_is_visible_in_the_whole_body() -> None:
    nodes = [task("a", input={"n": "loop.iteration"}), task("b", input={"n": "loop.iteration"})]
    nodes[1]["loop"] = {"max_iterations": 3, "loop_back_to": "a", "timeout_path": []}
    run = Drive(graph(*nodes, transitions=[{"from": "a", "to": "b"}])).start()
    for number in (1, 2, 3):
        assert run.open("a")[0].input == {"n": number}
        run.complete("a")
        assert run.open("b")[0].input == {"n": number}
        run.complete("b")
    assert run.outcome == "completed"


def around(inner: list[dict[str, Json]]) -> Drive:
    """An inner loop a ⇄ b, inside an outer one that comes back from c."""
    ways = [
        {"from": "a", "to": "b"},
        *inner,
        {"from": "c", "to": "a", "when": "output == 'again'", "max_iterations": 3},
        {"from": "c", "to": "z", "priority": 2},
    ]
    return Drive(graph("a", "b", "c", "z", transitions=ways)).start()


INNER = [
    {"from": "b", "to": "a", "id": "back", "when": "output == 'again'", "max_iterations": 2},
    {"from": "b", "to": "c", "priority": 2},
]


def test_a_back_edge_at_its_limit_does_not_match() -> None:
    run = around(INNER).complete("a").complete("b", "again").complete("a").complete("b", "again")
    assert [found.node for found in run.open()] == ["c"]


def test_the_count_is_dropped_when_the_loop_is_left() -> None:
    run = around(INNER).complete("a").complete("b", "again").complete("a").complete("b", "done")
    assert run.state.scopes[0].loops == {}
    run.complete("c", "again").complete("a").complete("b", "again")
    assert [found.node for found in run.open()] == ["a"]


def test_the_count_is_dropped_when_a_failure_in_the_body_leaves_the_loop() -> None:
    nodes: list[Json] = ["a", task("b", loop={"condition": "true", "max_iterations": 3, "loop_back_to": "a"}), "h"]
    ways = [{"from": "a", "to": "b"}, {"from": "a", "to": "h", "on": "error"}]
    run = Drive(graph(*nodes, transitions=ways)).start().complete("a").complete("b")
    assert run.state.scopes[0].loops == {"b": 1}
    run.fail("a")
    assert [found.node for found in run.open()] == ["h"]
    assert run.state.scopes[0].loops == {}


def test_a_fork_out_of_the_body_does_not_drop_the_count() -> None:
    nodes: list[Json] = ["a", task("b", loop={"condition": "true", "max_iterations": 2, "loop_back_to": "a"}), "log"]
    run = Drive(graph(*nodes, transitions=[{"from": "a", "to": "b"}, {"from": "a", "to": "log"}])).start()
    run.complete("a").complete("b").complete("log").complete("a").complete("b")
    assert run.code == "LOOP_LIMIT"


def test_the_count_belongs_to_the_scope() -> None:
    ways = [{"from": "a", "to": "b", "group": "g", "foreach": "[1, 2]"}]
    loop = {"condition": "true", "max_iterations": 2, "timeout_path": []}
    run = Drive(graph("a", task("b", loop=loop), transitions=ways)).start().complete("a")
    for _ in range(4):
        run.complete("b")
    assert (run.outcome, run.visited().count("b")) == ("completed", 4)
