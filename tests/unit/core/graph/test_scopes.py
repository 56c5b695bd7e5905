"""Tokens, scopes and what can be seen from where: graph-rules, "Tokens and scopes"."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.model import events as e
from tests.unit.core.graph.drive import Drive, graph

Json = Any


def task(name: str, **more: Json) -> dict[str, Json]:
    return {"id": name, "type": "task", "queue": "q", **more}


def test_taking_a_transition_consumes_the_token_and_creates_the_next() -> None:
    run = Drive(graph("a", "b", transitions=[{"from": "a", "to": "b", "id": "on"}])).start()
    first = run.open()[0].token
    run.complete("a")
    token = run.state.tokens[run.open()[0].token]
    assert (token.parent, token.origin, token.node, token.via, token.hop) == (first, "a", "b", "on", 2)
    assert first not in run.state.tokens


def test_after_a_join_the_hop_is_the_largest_and_one() -> None:
    ways = [
        {"from": "a", "to": "b", "group": "g"},
        {"from": "a", "to": "c", "group": "g"},
        {"from": "b", "to": "b2"},
        {"from": "b2", "to": "d", "synchronize": {"group": "g"}},
        {"from": "c", "to": "d", "synchronize": {"group": "g"}},
    ]
    run = Drive(graph("a", "b", "b2", "c", "d", transitions=ways)).start()
    for name in ("a", "b", "b2", "c"):
        run.complete(name)
    assert run.state.tokens[run.open("d")[0].token].hop == 4


@pytest.mark.parametrize(
    ("way", "node", "group"),
    [
        pytest.param({"group": "g"}, {}, "g", id="group"),
        pytest.param({"id": "t", "foreach": "[1]"}, {}, "t", id="foreach, unnamed: the transition's id"),
        pytest.param({"id": "t", "spawn": 2}, {}, "t", id="spawn"),
        pytest.param({"spawn": 2, "group": "g"}, {}, "g", id="spawn with a name"),
        pytest.param({}, {"fan_out": "all"}, "a", id="fan_out all: the node's id"),
    ],
)
def test_only_a_group_opens_scopes(way: dict[str, Json], node: dict[str, Json], group: str) -> None:
    run = Drive(graph(task("a", **node), "b", transitions=[{"from": "a", "to": "b", **way}])).start().complete("a")
    assert [found.name for found in run.state.groups.values()] == [group]
    assert 0 not in {token.scope for token in run.state.tokens.values()}


def test_several_targets_without_a_group_fork_and_share_the_scope() -> None:
    look = task("c", input={"saw": "nodes.b.output"})
    ways = [{"from": "a", "to": "b"}, {"from": "a", "to": "x"}, {"from": "x", "to": "c"}]
    run = Drive(graph("a", "b", "x", look, transitions=ways)).start()
    run.complete("a").complete("b", "seen").complete("x")
    assert run.open("c")[0].input == {"saw": "seen"}
    assert list(run.state.scopes) == [0]


def test_branches_are_numbered_by_transition_then_item() -> None:
    tell = {"input": {"index": "_branch.index", "item": "_branch.item"}}
    ways = [
        {"from": "a", "to": "b", "group": "g", "foreach": "output"},
        {"from": "a", "to": "x"},
        {"from": "a", "to": "c", "group": "g"},
    ]
    run = Drive(graph("a", task("b", **tell), "x", task("c"), transitions=ways)).start().complete("a", ["p", "q"])
    assert [found.input for found in run.open("b")] == [{"index": 0, "item": "p"}, {"index": 1, "item": "q"}]
    assert run.open("c")[0].input == ["p", "q"]  # no item of its own: what the opener put out
    assert [group.total for group in run.state.groups.values()] == [3]


def test_the_branch_variable_has_all_its_fields() -> None:
    ways = [{"from": "a", "to": "b", "group": "g", "foreach": {"in": "output", "item": "order"}}]
    run = Drive(graph("a", task("b", input={"branch": "_branch"}), transitions=ways)).start().complete("a", [7])
    assert list(run.open("b")[0].input["branch"].items()) == [
        ("index", 0),
        ("total", 1),
        ("fan_out_node_id", "a"),
        ("group", "g"),
        ("item", 7),
        ("output", {}),
        ("parent", None),
        ("order", 7),
    ]


def nested(**inner: Json) -> dict[str, Json]:
    """Two outer branches, each over two items, joined inside and then outside."""
    look = {"p": "_branch.parent.index", "i": "_branch.index"}
    return graph(
        "a",
        task("b", output={"mine": "output"}),
        task("c", input=look, **inner),
        task("d", input={"own": "_branch.output"}),
        "z",
        transitions=[
            {"from": "a", "to": "b", "group": "outer", "foreach": "output"},
            {"from": "b", "to": "c", "group": "inner", "foreach": "[10, 20]"},
            {"from": "c", "to": "d", "synchronize": {"group": "inner", "merge": {"target": "found"}}},
            {"from": "d", "to": "z", "synchronize": {"group": "outer", "merge": {"target": "all"}}},
        ],
    )


def test_two_outer_branches_with_inner_joins_on_one_target_do_not_clobber_each_other() -> None:
    """Trap 18, and: a join's merge lands in the scope that opened the group."""
    run = Drive(nested()).start().complete("a", ["x", "y"])
    run.complete("b", "B1", index=1).complete("b", "B0")
    assert {(t.input["p"], t.input["i"]) for t in run.open("c")} == {(0, 0), (0, 1), (1, 0), (1, 1)}
    while tasks := run.open("c"):
        run.answer(tasks[-1], f"{tasks[-1].input['p']}{tasks[-1].input['i']}")
    assert run.state.scopes[0].data == {}
    own = sorted((t.input["own"] for t in run.open("d")), key=lambda found: found["mine"])
    assert own == [{"mine": "B0", "found": ["00", "01"]}, {"mine": "B1", "found": ["10", "11"]}]
    while run.open("d"):
        run.complete("d", "ignored", index=-1)
    assert run.state.scopes[0].data == {"all": own}


def test_state_inside_a_branch_is_the_roots_and_live_and_writes_stay_inside() -> None:
    ways = [
        {"from": "a", "to": "b", "group": "g", "foreach": "[1]"},
        {"from": "a", "to": "s"},
        {"from": "b", "to": "c"},
    ]
    nodes: list[Json] = ["a", task("b", output={"n": "output"}), task("s", output={"n": "output"})]
    run = Drive(graph(*nodes, task("c", input={"n": "state.n", "own": "_branch.output.n"}), transitions=ways)).start()
    run.complete("a").complete("s", "root").complete("b", "branch")
    assert run.open("c")[0].input == {"n": "root", "own": "branch"}
    assert run.state.scopes[0].data == {"n": "root"}


def test_node_outputs_are_found_in_the_nearest_scope_and_leave_with_their_branch() -> None:
    ways = [
        {"from": "a", "to": "b", "group": "g", "foreach": "[1, 2]"},
        {"from": "b", "to": "c"},
        {"from": "c", "to": "d", "synchronize": {"group": "g"}},
    ]
    look = {"a": "nodes.a.output", "b": "nodes.b.output"}
    run = Drive(graph("a", "b", task("c", input=look), "d", transitions=ways)).start().complete("a", "A")
    run.complete("b", "B1", index=1).complete("b", "B0")
    assert {t.input["b"] for t in run.open("c")} == {"B0", "B1"}
    assert {t.input["a"] for t in run.open("c")} == {"A"}
    run.complete("c").complete("c")
    assert list(run.state.scopes[0].nodes) == ["a"]


def test_outputs_of_an_unjoined_group_are_read_by_the_runs_output() -> None:
    ways = [{"from": "a", "to": "b", "group": "g", "foreach": "[1, 2, 3]"}]
    run = Drive(graph("a", "b", transitions=ways, output={"all": "_branches.g"})).start().complete("a")
    for index, value in ((2, "c"), (0, "a"), (0, "b")):
        run.complete("b", value, index=index)
    assert run.output == {"all": ["a", "b", "c"]}


def test_a_fan_out_is_one_event() -> None:
    ways = [{"from": "a", "to": "b", "foreach": "output"}]
    run = Drive(graph({"id": "a", "type": "pass"}, {"id": "b", "type": "task"}, transitions=ways), list(range(50)))
    run.start()
    opened = [event for event, _ in run.log if isinstance(event, e.GroupOpened)]
    assert [len(event.branches) for event in opened] == [1]
    assert "token.created" not in run.kinds()[2:]
