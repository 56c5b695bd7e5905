"""Group joins where they meet nesting, failures and each other: what test_joins.py leaves open."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from penstock.core.definition import DefinitionInvalid
from penstock.core.model import commands as c
from penstock.core.model import events as e
from tests.unit.core.graph.drive import Drive, graph
from tests.unit.core.graph.rules.shapes import (
    asked,
    chain,
    children,
    fail_task,
    fanned,
    nodes_open,
    recorded,
    run_of,
    task,
    way,
)

Json = Any


# -- spelling and registration


@pytest.mark.parametrize(
    "ways",
    [
        pytest.param([way("b", "j", synchronize={"group": "g"})], id="synchronize names the group"),
        pytest.param([way("b", "j", synchronize={})], id="the innermost one"),
        pytest.param([way("b", "j", synchronize={"joins_transition": "open"})], id="the transition that opened it"),
        pytest.param([way("b", "j")], id="fan_in"),
    ],
)
def test_every_spelling_joins_the_group(ways: list[dict[str, Json]]) -> None:
    target = task("j", fan_in="all") if "synchronize" not in ways[0] else "j"
    run = run_of("a", "b", target, ways=[way("a", "b", id="open", group="g", spawn=2), *ways]).complete("a")
    assert nodes_open(run.complete("b", 1)) == ["b"]
    assert run.complete("b", 2).open("j")[0].input == [1, 2]


@pytest.mark.parametrize(
    ("ways", "code"),
    [
        pytest.param(
            [way("b", "j", synchronize={"group": "g"}), way("b", "k", synchronize={"group": "g"})],
            "GROUP_JOINED_TWICE",
            id="two targets",
        ),
        pytest.param(
            [way("b", "j", synchronize={"group": "g"}), way("k", "j", synchronize={"group": "g", "wait_for": "any"})],
            "GROUP_JOINED_TWICE",
            id="two rules",
        ),
        pytest.param(
            [way("b", "k", group="inner", spawn=2), way("k", "j", synchronize={"group": "g"})],
            "JOIN_SKIPS_GROUP",
            id="not the innermost",
        ),
    ],
)
def test_joins_of_one_group_agree_and_join_the_innermost(ways: list[dict[str, Json]], code: str) -> None:
    extra = [] if any(found["to"] == "k" for found in ways) else [way("b", "k", when="false")]
    definition = graph("a", "b", "k", "j", transitions=[way("a", "b", group="g", spawn=2), *extra, *ways])
    with pytest.raises(DefinitionInvalid) as caught:
        Drive(definition)
    problems: Json = caught.value.attributes["problems"]
    assert code in {problem.code for problem in problems}


# -- what keeps a branch open


def in_branch(node: dict[str, Json]) -> Drive:
    """Two branches: `b`, which is done, and `x` of the kind given."""
    sync = {"synchronize": {"group": "g"}}
    ways = [way("a", "b", group="g"), way("a", "x", group="g"), way("b", "j", **sync), way("x", "j", **sync)]
    return run_of("a", "b", {"id": "x", **node}, "j", ways=ways).complete("a").complete("b", "B")


@pytest.mark.parametrize(
    "node",
    [
        pytest.param({"type": "task", "queue": "q"}, id="task"),
        pytest.param({"type": "wait", "wait": "10s"}, id="timer"),
        pytest.param({"type": "wait", "wait": {"signal": "go"}}, id="signal"),
        pytest.param({"type": "human"}, id="approval"),
        pytest.param({"type": "workflow", "workflow": "sub"}, id="child"),
        pytest.param({"type": "task", "queue": "q", "on_exhausted": "park"}, id="parked"),
        pytest.param({"type": "task", "queue": "q", "retry": {"max_attempts": 2, "backoff_ms": 1000}}, id="retrying"),
    ],
)
def test_a_branch_is_open_while_anything_of_it_is(node: dict[str, Json]) -> None:
    run = in_branch(node)
    if run.open("x") and node.keys() & {"on_exhausted", "retry"}:
        run.fail("x", retryable=True)
    assert (run.open("j"), run.outcome) == ([], None)
    if node.get("on_exhausted"):
        (token,) = [found.id for found in run.state.tokens.values() if found.status == "parked"]
        run.send(c.RetryParked(token))
    run.advance(10)
    run.send(c.SendSignal("s", "go", "X"))
    for approval in asked(run):
        run.send(c.DecideApproval(approval, "approved", "me"))
    for child in children(run):
        run.send(c.EndChild(child, "completed", "X"))
    for found in run.open("x"):
        run.answer(found, "X")
    assert nodes_open(run) == ["j"]


def test_a_branch_is_open_while_an_inner_group_is() -> None:
    ways = [
        way("a", "b", group="outer"),
        way("b", "c", group="inner", spawn=2),
        way("b", "j", synchronize={"group": "outer"}),
    ]
    run = run_of("a", "b", "c", "j", ways=ways).complete("a").complete("b")
    assert nodes_open(run.complete("c")) == ["c"]
    assert nodes_open(run.complete("c")) == ["j"]


@pytest.mark.parametrize("last", ["no match", "terminal", "arrived"])
def test_a_branch_that_ends_anywhere_else_is_not_waited_for(last: str) -> None:
    """Trap 16: a terminal node, no match, and whichever of them comes last."""
    ways = [
        way("a", "b", group="g", foreach="['arrived', 'terminal', 'no match']"),
        way("b", "end", when="output == 'terminal'"),
        way("b", "j", when="output == 'arrived'", synchronize={"group": "g"}),
    ]
    run = run_of("a", task("b", on_no_match="end"), {"id": "end", "type": "pass"}, "j", ways=ways).complete("a")
    for found in sorted(run.open("b"), key=lambda found: found.input == last):
        run.answer(found, found.input)
    assert run.open("j")[0].input == ["arrived"]


# -- failures


def test_a_failed_branch_cancels_the_rest_by_default() -> None:
    run = fanned().fail("b", index=1)
    assert (run.outcome, run.code) == ("failed", "BOOM")
    assert [event.reason for event in recorded(run, e.TokenCancelled)] != []
    assert run.status == "closed"


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_settled_errors_are_listed_by_branch_whatever_came_first(order: tuple[int, ...]) -> None:
    run = fanned(on_sibling_failure="settle")
    tasks = run.open("b")
    for index in order:
        if index == 1:
            run.answer(tasks[1], "fine")
        else:
            fail_task(run, tasks[index])
    assert [(found["index"], found["item"]) for found in run.state.scopes[0].errors["g"]] == [(0, 0), (2, 2)]


def test_all_settles_although_every_branch_failed() -> None:
    run = fanned(items=2, on_sibling_failure="settle").fail("b").fail("b")
    assert run.open("j")[0].input == []
    assert len(run.state.scopes[0].errors["g"]) == 2


def test_the_errors_of_one_iteration_are_not_those_of_the_next() -> None:
    ways = [way("a", "b", group="g", foreach="[1]"), way("b", "j", synchronize={"on_sibling_failure": "settle"})]
    nodes: list[Json] = ["a", "b", task("j", input={"errors": "size(_errors.g)"})]
    nodes[2]["loop"] = {"max_iterations": 2, "loop_back_to": "a", "timeout_path": []}
    run = run_of(*nodes, ways=ways).complete("a").fail("b")
    assert run.open("j")[0].input == {"errors": 1}
    run.complete("j").complete("a").complete("b")
    assert run.open("j")[0].input == {"errors": 0}


def test_errors_of_an_inner_group_are_those_of_its_own_branch() -> None:
    ways = [
        way("a", "b", group="outer", foreach="[0, 1]"),
        way("b", "c", group="inner", foreach="[5]"),
        way("c", "d", synchronize={"group": "inner", "on_sibling_failure": "settle"}),
        way("d", "z", synchronize={"group": "outer"}),
    ]
    look = task("d", input={"failed": "has(_errors.inner) && size(_errors.inner) > 0"})
    run = run_of("a", "b", "c", look, "z", ways=ways).complete("a").complete("b").complete("b")
    run.fail("c").complete("c")
    assert sorted(found.input["failed"] for found in run.open("d")) == [False, True]
    assert run.state.scopes[0].errors == {}


def forked_branch(**sync: Json) -> Drive:
    """A branch of `outer` forks: `x`, and a group `inner` over two `c` that join at `d`."""
    ways = [
        way("a", "b", group="outer", foreach="[1, 2]"),
        way("b", "x"),
        way("b", "c", group="inner", foreach="[1, 2]"),
        way("c", "d", synchronize={"group": "inner", **sync}),
        way("d", "h", on="error"),
        way("d", "z", synchronize={"group": "outer", "on_sibling_failure": "settle"}),
    ]
    run = run_of("a", "b", "x", "c", "d", "h", "z", ways=ways).complete("a")
    return run.complete("b").complete("b")


@pytest.mark.parametrize("arrived", [0, 1])
def test_a_branch_that_fails_takes_its_inner_groups_with_it(arrived: int) -> None:
    """The inner join must not fire out of what was cancelled."""
    run = forked_branch()
    for _ in range(arrived):
        run.complete("c", "early")
    run.fail("x")
    assert "d" not in nodes_open(run)
    assert [found.status for found in recorded(run, e.BranchClosed)].count("failed") == 1
    run.complete("x").complete("c", 1).complete("c", 2).complete("d", "D")
    assert run.open("z")[0].input == ["D"]


@pytest.mark.parametrize("arrived", [0, 1])
def test_a_branch_that_failed_is_not_saved_by_the_handler_of_an_inner_join(arrived: int) -> None:
    """What is cancelled with its branch does not make the inner join unreachable, which someone might catch."""
    run = forked_branch(wait_for={"m_of_n": 2})
    for _ in range(arrived):
        run.complete("c", "early")
    run.fail("x")
    assert "h" not in nodes_open(run)
    assert recorded(run, e.JoinFailed) == []


def test_an_inner_group_without_a_join_fails_its_branch_and_no_more() -> None:
    ways = [
        way("a", "b", group="outer", foreach="[1, 2]"),
        way("b", "c", group="inner", foreach="[1, 2]"),
        way("b", "d"),
        way("d", "z", synchronize={"group": "outer", "on_sibling_failure": "settle"}),
    ]
    run = run_of("a", "b", "c", "d", "z", ways=ways).complete("a").complete("b").complete("b").fail("c")
    assert (nodes_open(run).count("c"), nodes_open(run).count("d")) == (2, 1)
    run.complete("c").complete("c").complete("d", "D")
    assert run.open("z")[0].input == ["D"]


def test_a_failed_join_fails_outward_until_someone_catches() -> None:
    ways = [
        way("a", "b", group="outer", foreach="[1]"),
        way("b", "c", group="inner", foreach="[1]"),
        way("c", "d", synchronize={"group": "inner"}),
        way("d", "z", synchronize={"group": "outer"}),
        way("z", "h", on="error"),
    ]
    run = run_of("a", "b", "c", "d", "z", "h", ways=ways).complete("a").complete("b").fail("c")
    assert nodes_open(run) == ["h"]
    assert [(event.node, event.fault.code) for event in recorded(run, e.JoinFailed)] == [("d", "BOOM"), ("z", "BOOM")]


def test_an_inner_failure_is_caught_inside_its_branch() -> None:
    ways = [
        way("a", "b", group="outer", foreach="[1]"),
        way("b", "c", group="inner", foreach="[1]"),
        way("c", "d", synchronize={"group": "inner"}),
        way("d", "h", on="error"),
        way("d", "z", synchronize={"group": "outer"}),
        way("h", "z", synchronize={"group": "outer"}),
    ]
    run = run_of("a", "b", "c", "d", "h", "z", ways=ways).complete("a").complete("b").fail("c")
    assert run.complete("h", "H").open("z")[0].input == ["H"]


def test_a_failed_joins_target_is_not_tried_again_and_not_parked() -> None:
    ways = [way("a", "b", group="g", foreach="[1]"), way("b", "j", synchronize={"group": "g"})]
    run = run_of("a", "b", task("j", retry=5, on_exhausted="park"), ways=ways).complete("a").fail("b", retryable=True)
    assert (run.outcome, run.status) == ("failed", "closed")


# -- time


def test_a_join_that_fired_is_not_troubled_by_its_timeout() -> None:
    run = fanned(timeout="10s").complete("b", 1).complete("b", 2).complete("b", 3).advance(20)
    assert nodes_open(run) == ["j"]


def test_the_timeout_of_a_nested_group_runs_from_its_own_opening() -> None:
    ways = [
        way("a", "b", group="outer"),
        way("b", "c", group="inner", spawn=1),
        way("c", "d", synchronize={"group": "inner", "timeout": "10s"}),
        way("d", "z", synchronize={"group": "outer"}),
    ]
    run = run_of("a", "b", "c", "d", "z", ways=ways).complete("a").advance(9).complete("b").advance(9)
    assert run.outcome is None
    assert run.advance(2).code == "JOIN_TIMEOUT"


def test_a_timeout_with_none_arrived_proceeds_with_nothing() -> None:
    run = fanned(timeout="10s", on_timeout="proceed_with_available").advance(11)
    assert [(found.node, found.input) for found in run.open()] == [("j", [])]


def test_a_timeout_that_proceeds_lists_the_errors_of_those_that_failed() -> None:
    run = fanned(timeout="10s", on_timeout="proceed_with_available", on_sibling_failure="settle")
    run.fail("b").complete("b", "x").advance(11)
    assert run.open("j")[0].input == ["x"]
    assert [found["index"] for found in run.state.scopes[0].errors["g"]] == [0]


# -- empty groups


def inner_empty(**sync: Json) -> Drive:
    ways = [
        way("a", "b", group="outer", foreach="output"),
        way("b", "c", group="inner", foreach="output"),
        way("c", "d", when="false", synchronize={"group": "inner", **sync}),
        way("d", "z", synchronize={"group": "outer"}),
    ]
    return run_of("a", "b", "c", "d", "z", ways=ways).complete("a", [0, 1])


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_an_empty_group_inside_a_branch_is_joined_at_once_without_asking_its_condition(order: tuple[int, int]) -> None:
    """Trap 1, nested."""
    run = inner_empty()
    tasks = run.open("b")
    for index in order:
        run.answer(tasks[index], [])
    assert [found.input for found in run.open("d")] == [[], []]
    run.complete("d", "x").complete("d", "y")
    assert sorted(run.open("z")[0].input) == ["x", "y"]


def test_an_outer_group_may_be_empty_too() -> None:
    ways = [
        way("a", "b", group="outer", foreach="output"),
        way("b", "c", group="inner", foreach="[]"),
        way("c", "d", synchronize={"group": "inner"}),
        way("d", "z", synchronize={"group": "outer"}),
    ]
    run = run_of("a", "b", "c", "d", "z", ways=ways).complete("a", [])
    assert [(found.node, found.input) for found in run.open()] == [("z", [])]


def test_an_empty_inner_any_fails_only_its_branch() -> None:
    ways = [
        way("a", "b", group="outer", foreach="[0, 1]"),
        way("b", "c", group="inner", foreach="output"),
        way("c", "d", synchronize={"group": "inner", "wait_for": "any"}),
        way("d", "z", synchronize={"group": "outer", "on_sibling_failure": "settle"}),
    ]
    run = run_of("a", "b", "c", "d", "z", ways=ways).complete("a").complete("b", [1]).complete("b", [])
    run.complete("c").complete("d", "D")
    assert run.open("z")[0].input == ["D"]


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [("append", []), ("concat", []), ("merge_object", {}), ("keyed_by_branch", {}), ("last_wins", None)],
)
def test_an_empty_group_merges_to_the_empty_value_of_its_strategy(strategy: str, expected: Json) -> None:
    run = fanned(items=0, merge={"strategy": strategy, "target": "found"})
    assert [found.input for found in run.open("j")] == [expected]
    assert run.state.scopes[0].data == {"found": expected}


def test_a_spawn_of_none_is_an_empty_group() -> None:
    ways = [way("a", "b", group="g", spawn=0), way("b", "j", synchronize={"group": "g"})]
    assert run_of("a", "b", "j", ways=ways).complete("a").open("j")[0].input == []


def test_an_empty_group_without_a_join_is_over_at_once() -> None:
    run = run_of("a", "b", ways=[way("a", "b", foreach="output", group="g")], output={"all": "_branches.g"})
    assert (run.complete("a", []).outcome, run.output) == ("completed", {"all": []})


def test_an_empty_foreach_beside_a_plain_member_of_its_group_is_not_an_empty_group() -> None:
    sync = {"synchronize": {"group": "g"}}
    ways = [
        way("a", "b", group="g", foreach="[]"),
        way("a", "c", group="g"),
        way("b", "j", **sync),
        way("c", "j", **sync),
    ]
    run = run_of("a", "b", "c", "j", ways=ways).complete("a")
    assert nodes_open(run) == ["c"]
    assert run.complete("c", "C").open("j")[0].input == ["C"]


# -- merges


def test_collect_is_append() -> None:
    run = fanned(items=2, merge="collect").complete("b", [2], index=1).complete("b", [1])
    assert run.open("j")[0].input == [[1], [2]]


def test_the_last_wins_by_index_and_not_by_time() -> None:
    run = fanned(items=2, merge="last_wins").complete("b", "one", index=1).complete("b", "zero")
    assert run.open("j")[0].input == "one"


def test_keys_are_the_indices_of_those_that_arrived() -> None:
    run = fanned(merge="keyed_by_branch", on_sibling_failure="settle")
    run.complete("b", "two", index=2).fail("b", index=1).complete("b", "zero")
    assert list(run.open("j")[0].input.items()) == [("0", "zero"), ("2", "two")]


# -- loops around groups


def test_a_fan_out_in_a_loop_is_joined_anew_and_late_results_of_the_turn_before_do_not_count() -> None:
    """Traps 3 and 5."""
    ways = [way("a", "b", group="g", foreach="[1, 2]"), way("b", "j", synchronize={"wait_for": "any"})]
    loop = {"max_iterations": 2, "loop_back_to": "a", "timeout_path": []}
    run = run_of("a", "b", task("j", loop=loop), ways=ways).complete("a")
    late = run.open("b")[1]
    run.complete("b", "x1").complete("j").complete("a")
    run.answer(late, "x2")
    assert nodes_open(run) == ["b", "b"]
    assert run.complete("b", "y2", index=1).open("j")[0].input == ["y2"]


def test_a_loop_inside_each_branch_counts_for_itself_and_arrives_once() -> None:
    loop = {"condition": "output < 3", "max_iterations": 5}
    ways = [way("a", "b", group="g", foreach="[1, 2]"), way("b", "j", synchronize={"group": "g"})]
    run = run_of("a", task("b", loop=loop), "j", ways=ways).complete("a")
    run.work(lambda found: found.input + 1 if found.node == "b" else found.input)
    assert run.output == [3, 3]
    assert run.visited().count("b") == 3


def test_a_branch_that_loops_back_to_the_opener_opens_an_instance_of_its_own_inside() -> None:
    ways = [
        way("a", "b", group="g", foreach="output"),
        way("b", "a", when="output == 'again'", max_iterations=2),
        way("b", "j", priority=2, synchronize={"group": "g"}),
        *chain("j", "k"),
    ]
    run = run_of("a", "b", "j", "k", ways=ways).complete("a", [1, 2]).complete("b", "again").complete("a", [3])
    run.complete("b", "B").complete("b", "C")
    run.work(lambda found: found.input)
    assert run.outcome == "completed"
