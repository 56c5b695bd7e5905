"""Where tokens go: graph-rules, "Routing"."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from penstock.core.model import events as e
from tests.unit.core.graph.drive import Drive, graph

Json = Any


def ways(*written: dict[str, Json], node: dict[str, Json] | None = None, **more: Json) -> Drive:
    """`a` with these ways out, to tasks that the ways name."""
    names = dict.fromkeys(way["to"] for way in written)
    first = {"id": "a", "type": "task", "queue": "q", **(node or {})}
    transitions = [{"from": "a", **way} for way in written]
    return Drive(graph(first, *(name for name in names if name != "a"), transitions=transitions, **more)).start()


def reached(run: Drive) -> list[str]:
    return [task.node for task in run.open()]


HIGH, LOW = "output.n > 5", "output.n <= 5"


@pytest.mark.parametrize(
    ("written", "node", "expected"),
    [
        pytest.param([{"to": "b"}, {"to": "c"}], {}, ["b", "c"], id="no when is true, all of a tier fire"),
        pytest.param([{"to": "b", "priority": 2}, {"to": "c"}], {}, ["c"], id="priority defaults to 1"),
        pytest.param(
            [{"to": "b", "when": HIGH}, {"to": "c", "priority": 2}, {"to": "d", "priority": 2}],
            {},
            ["c", "d"],
            id="the first tier with a match fires",
        ),
        pytest.param([{"to": "b", "default": True}, {"to": "c", "when": LOW}], {}, ["c"], id="default comes last"),
        pytest.param([{"to": "b", "default": True}, {"to": "c", "when": HIGH}], {}, ["b"], id="default if none else"),
        pytest.param(
            [{"to": "b", "priority": 2}, {"to": "c"}, {"to": "d"}],
            {"fan_out": "first_match"},
            ["c"],
            id="first_match by priority, then order",
        ),
        pytest.param(
            [{"to": "b"}, {"to": "c", "priority": 2}, {"to": "d", "when": HIGH}],
            {"fan_out": "all"},
            ["b", "c"],
            id="all fires every match of every tier",
        ),
        pytest.param(
            [{"to": "b", "when": "output.nothing.at > 1"}, {"to": "c", "priority": 2}],
            {"on_condition_error": "no_match"},
            ["c"],
            id="on_condition_error no_match opts out",
        ),
        pytest.param(
            [
                {"to": "b", "when": {"type": "jsonpath", "query": "$.missing", "operator": ">", "value": 0}},
                {"to": "c", "priority": 2},
            ],
            {},
            ["c"],
            id="a JSONPath that finds nothing compares as false",
        ),
        pytest.param(
            [{"to": "b", "when": {"type": "jsonpath", "query": "$.n", "operator": "==", "value": 1}}],
            {},
            ["b"],
            id="$ is the current output",
        ),
    ],
)
def test_transitions_fire_by_tier(written: list[dict[str, Json]], node: dict[str, Json], expected: list[str]) -> None:
    assert reached(ways(*written, node=node).complete("a", {"n": 1})) == expected


@pytest.mark.parametrize(
    ("written", "node", "code"),
    [
        pytest.param([{"to": "b", "when": HIGH}], {}, "NO_MATCH", id="nothing matches"),
        pytest.param([{"to": "b", "when": "output.no.such > 1"}], {}, "CONDITION_ERROR", id="a condition raises"),
        pytest.param([{"to": "b", "foreach": "output.n"}], {}, "FOREACH_NOT_A_LIST", id="foreach over no list"),
        pytest.param([{"to": "b"}], {"output_schema": {"type": "string"}}, "OUTPUT_SCHEMA", id="output schema"),
        pytest.param([{"to": "b"}], {"output": {"x": "output.n"}}, "STATE_SCHEMA", id="state schema"),
        pytest.param([{"to": "b"}], {"loop": {"max_iterations": 1}}, "LOOP_LIMIT", id="loop limit"),
    ],
)
class TestRoutingFailure:
    SCHEMA: ClassVar[dict[str, Json]] = {"state_schema": {"type": "object", "properties": {"x": {"type": "string"}}}}

    def test_fails_the_node_just_completed_and_is_not_retried(
        self, written: list[dict[str, Json]], node: dict[str, Json], code: str
    ) -> None:
        run = ways(*written, node={**node, "retry": 3}, **self.SCHEMA).complete("a", {"n": 1})
        assert (run.outcome, run.code) == ("failed", code)
        assert run.state.fault is not None
        assert run.state.fault.node == "a"
        assert "task.retry_scheduled" not in run.kinds()

    def test_is_caught_by_on_error(self, written: list[dict[str, Json]], node: dict[str, Json], code: str) -> None:
        handler = {"to": "h", "on": "error", "when": f"state._last_error.code == '{code}'"}
        run = ways(*written, handler, node=node, **self.SCHEMA).complete("a", {"n": 1})
        assert reached(run) == ["h"]

    def test_leaves_an_effect_that_is_compensated(
        self, written: list[dict[str, Json]], node: dict[str, Json], code: str
    ) -> None:
        run = ways(*written, node={**node, "compensate": {"action": "undo"}}, **self.SCHEMA).complete("a", {"n": 1})
        assert [task.purpose for task in run.open()] == ["undo"]
        assert run.open()[0].input["output"] == {"n": 1}
        assert run.code == code


def test_nothing_matches_and_may_end() -> None:
    run = ways({"to": "b", "when": HIGH}, node={"on_no_match": "end"}).complete("a", {"n": 1})
    assert (run.outcome, run.output) == ("completed", {"n": 1})


def test_a_refused_output_is_recorded_and_not_applied() -> None:
    node = {"output_schema": {"required": ["m"]}, "output": {"x": "output.n"}}
    run = ways({"to": "b"}, {"to": "h", "on": "error"}, node=node).complete("a", {"n": 1})
    assert [event.applied for event, _ in run.log if isinstance(event, e.NodeCompleted)] == [False]
    assert run.state.scopes[0].data == {}
    assert run.state.scopes[0].nodes == {}


def test_the_output_schema_comes_before_the_output_mapping() -> None:
    node = {"output_schema": {"required": ["m"]}, "output": {"x": "output.no.such"}}
    assert ways({"to": "b"}, node=node).complete("a", {"n": 1}).code == "OUTPUT_SCHEMA"


def test_a_plain_transition_never_catches() -> None:
    assert ways({"to": "b"}).fail("a").outcome == "failed"


def test_a_condition_that_reads_the_last_error_catches() -> None:
    catching = {"to": "h", "when": "state._last_error.code == 'BOOM'"}
    assert reached(ways(catching, {"to": "b", "priority": 2}).fail("a")) == ["h"]
    assert ways(catching, {"to": "b", "priority": 2}).fail("a", "OTHER").outcome == "failed"


def test_a_condition_on_the_last_error_is_no_match_after_a_success() -> None:
    catching = {"to": "h", "when": "state._last_error.code == 'BOOM'"}
    assert reached(ways(catching, {"to": "b", "priority": 2}).complete("a")) == ["b"]


def test_a_node_whose_only_ways_catch_is_an_end_after_a_success() -> None:
    run = ways({"to": "h", "when": "state._last_error.code == 'BOOM'"}).complete("a", 1)
    assert (run.outcome, run.output) == ("completed", 1)


def test_the_last_error_travels_with_the_token_until_its_next_success() -> None:
    tell: dict[str, Json] = {"type": "task", "queue": "q", "input": {"seen": "has(state._last_error)"}}
    nodes: list[Json] = ["a", {"id": "h", **tell}, {"id": "b", **tell}]
    run = Drive(graph(*nodes, transitions=[{"from": "a", "to": "h", "on": "error"}, {"from": "h", "to": "b"}]))
    run.start().fail("a")
    assert run.open("h")[0].input == {"seen": True}
    assert run.complete("h").open("b")[0].input == {"seen": False}


def test_the_last_error_says_all_it_knows() -> None:
    nodes: list[Json] = ["a", {"id": "h", "type": "task", "queue": "q", "input": {"error": "state._last_error"}}]
    run = Drive(graph(*nodes, transitions=[{"from": "a", "to": "h", "on": "error"}])).start().fail("a")
    error = run.open("h")[0].input["error"]
    assert list(error) == ["code", "message", "node", "attempt", "retryable", "details", "cause"]
    assert (error["code"], error["node"], error["attempt"]) == ("BOOM", "a", 1)


def agent(**more: Json) -> Drive:
    branch = {"type": "agent_driven", "available_next_nodes": ["b", "c"], "default": "d"}
    return Drive(graph({"id": "a", "type": "task", "queue": "q", "branch": branch, **more}, "b", "c", "d")).start()


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        pytest.param(("c",), ["c"], id="one"),
        pytest.param(("b", "c"), ["b", "c"], id="several fork"),
        pytest.param((), ["d"], id="empty is the default"),
        pytest.param(None, ["d"], id="none is the default"),
    ],
)
def test_an_agent_chooses_the_next_nodes(chosen: tuple[str, ...] | None, expected: list[str]) -> None:
    run = agent()
    assert reached(run.answer(run.open()[0], 1, next_nodes=chosen)) == expected


def test_an_agent_may_only_go_where_it_is_allowed_and_may_try_again() -> None:
    run = agent(retry=2)
    run.answer(run.open()[0], 1, next_nodes=("elsewhere",)).advance(1)
    assert [task.attempt for task in run.open("a")] == [2]
    run.answer(run.open()[0], 1, next_nodes=("elsewhere",))
    assert (run.outcome, run.code) == ("failed", "ROUTE_NOT_ALLOWED")


def test_too_many_branches_are_refused_before_anything_moves() -> None:
    plain, many = {"to": "b"}, {"to": "c", "foreach": "output"}
    run = ways(plain, many, {"to": "h", "on": "error"}, limits={"max_fanout": 2}).complete("a", [1, 2, 3])
    assert (run.code, reached(run)) == ("LIMIT_MAX_FANOUT", [])
