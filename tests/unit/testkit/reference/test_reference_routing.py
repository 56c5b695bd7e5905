"""Routing, failures and data of the reference interpreter, sentence by sentence of the rules."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.testkit.reference import Completed, Decided, Failed
from tests.unit.testkit.reference.predicting import BAD, Case, check, out, predict, ran

T: dict[str, Any] = {}


CHAIN = [{"from": "a", "to": "b"}]
CATCH = {"from": "a", "to": "e", "on": "error"}
FALSE = "output.x > 5"
TRUE = "output.x == 1"
X = {"a": out(x=1)}


CASES = [
    Case("an entry gets the run input", {"a": T}, [], ["a"], input=("a", [{"n": 1}]), output={"n": 1}),
    Case(
        "the payload is the predecessor's output",
        {"a": T, "b": T},
        CHAIN,
        ["a", "b"],
        {"a": out(x=1)},
        input=("b", [{"x": 1}]),
    ),
    Case(
        "an input mapping replaces the payload",
        {"a": T, "b": {"input": {"y": "nodes.a.output.x + input.n"}}},
        CHAIN,
        ["a", "b"],
        X,
        input=("b", [{"y": 2}]),
    ),
    Case(
        "an output mapping writes the state, and the payload stays the output",
        {"a": {"output": {"set": {"s.t": "output.x"}, "append": {"log": "output.x"}}}, "b": T},
        CHAIN,
        ["a", "b"],
        X,
        state={"s": {"t": 1}, "log": [1]},
        input=("b", [{"x": 1}]),
    ),
    Case("no output mapping leaves the state", {"a": T}, [], ["a"], X, {"state": {"k": 1}}, state={"k": 1}),
    Case(
        "a delete removes the path", {"a": {"output": {"delete": ["k"]}}}, [], ["a"], X, {"state": {"k": 1}}, state={}
    ),
    Case(
        "the run output mapping",
        {"a": T, "b": T},
        CHAIN,
        ["a", "b"],
        X,
        {"output": {"r": "nodes.a.output.x"}},
        output={"r": 1},
    ),
    Case(
        "several terminal completions are an object by node",
        {"a": T, "b": T, "c": T},
        [{"from": "a", "to": "c"}, {"from": "a", "to": "b"}],
        ["a", "b", "c"],
        {"b": Completed(2), "c": Completed(3)},
        output={"b": 2, "c": 3},
    ),
    Case(
        "two entries run side by side",
        {"a": T, "b": T},
        [],
        ["a", "b"],
        {"a": Completed(1), "b": Completed(2)},
        output={"a": 1, "b": 2},
    ),
    Case(
        "pass gives its input on without work",
        {"a": {"type": "pass", "input": {"x": 7}}, "b": T},
        CHAIN,
        ["a", "b"],
        input=("b", [{"x": 7}]),
    ),
    Case(
        "the first tier with a match fires, all its matches",
        {"a": T, "b": T, "c": T, "d": T, "f": T},
        [
            {"from": "a", "to": "b", "when": FALSE, "priority": 0},
            {"from": "a", "to": "f", "priority": 2},
            {"from": "a", "to": "c", "when": TRUE},
            {"from": "a", "to": "d"},
        ],
        ["a", "c", "d"],
        X,
    ),
    Case(
        "first_match takes one by priority and order",
        {"a": {"fan_out": "first_match"}, "b": T, "c": T, "d": T},
        [{"from": "a", "to": "b", "priority": 2}, {"from": "a", "to": "c"}, {"from": "a", "to": "d"}],
        ["a", "c"],
        X,
    ),
    Case(
        "fan_out all takes every match of every tier, each in a branch",
        {"a": {"fan_out": "all"}, "b": T, "c": T, "d": T},
        [{"from": "a", "to": "b", "priority": 2}, {"from": "a", "to": "c"}, {"from": "a", "to": "d", "when": FALSE}],
        ["a", "b@a0", "c@a1"],
        X,
    ),
    Case(
        "default is the last tier",
        {"a": T, "b": T, "c": T},
        [{"from": "a", "to": "b", "default": True}, {"from": "a", "to": "c", "when": FALSE}],
        ["a", "b"],
        X,
    ),
    Case(
        "no match is a failure",
        {"a": T, "b": T},
        [{"from": "a", "to": "b", "when": FALSE}],
        ["a"],
        X,
        codes=("NO_MATCH",),
    ),
    Case(
        "no match may end the token",
        {"a": {"on_no_match": "end"}, "b": T},
        [{"from": "a", "to": "b", "when": FALSE}],
        ["a"],
        X,
        output={"x": 1},
    ),
    Case(
        "a condition that raises fails the node",
        {"a": T, "b": T, "c": T},
        [{"from": "a", "to": "b", "when": "output.zz > 1"}, {"from": "a", "to": "c"}],
        ["a"],
        X,
        codes=("CONDITION_ERROR",),
    ),
    Case(
        "a condition that raises may be no match",
        {"a": {"on_condition_error": "no_match"}, "b": T, "c": T},
        [{"from": "a", "to": "b", "when": "output.zz > 1"}, {"from": "a", "to": "c"}],
        ["a", "c"],
        X,
    ),
    Case(
        "a lower tier that is not reached is not evaluated",
        {"a": T, "b": T, "c": T},
        [{"from": "a", "to": "b", "when": "output.zz > 1", "priority": 2}, {"from": "a", "to": "c"}],
        ["a", "c"],
        X,
    ),
    Case(
        "a routing failure is catchable and its writes stand",
        {"a": {"output": {"s": "output.x"}}, "b": T, "e": {"input": {"c": "state._last_error.code"}}},
        [{"from": "a", "to": "b", "when": FALSE}, CATCH],
        ["a", "e"],
        X,
        state={"s": 1},
        input=("e", [{"c": "NO_MATCH"}]),
    ),
    Case(
        "an output schema fails before anything is stored",
        {"a": {"output_schema": {"required": ["y"]}, "output": {"s": "output.x"}}},
        [],
        ["a"],
        X,
        codes=("OUTPUT_SCHEMA",),
        state={},
    ),
    Case(
        "a state schema fails before anything is stored",
        {"a": {"output": {"s": "output.x"}}},
        [],
        ["a"],
        X,
        {"state_schema": {"properties": {"s": {"type": "string"}}}},
        codes=("STATE_SCHEMA",),
        state={},
    ),
    Case("an uncaught failure fails the run", {"a": T, "b": T}, CHAIN, ["a"], {"a": BAD}, codes=("E_BAD",)),
    Case(
        "on error catches, a plain transition does not",
        {"a": T, "b": T, "e": {"input": {"c": "state._last_error.code"}}},
        [*CHAIN, CATCH],
        ["a", "e"],
        {"a": BAD},
        input=("e", [{"c": "E_BAD"}]),
    ),
    Case(
        "a condition that reads the last error catches",
        {"a": T, "b": T, "e": {"input": {"z": 1}}},
        [*CHAIN, {"from": "a", "to": "e", "when": 'has(state._last_error) && state._last_error.code == "E_BAD"'}],
        ["a", "e"],
        {"a": BAD},
    ),
    Case(
        "the last error is dropped at the next success",
        {"a": T, "e": {"input": {"z": 1}}, "f": T, "g": T},
        [CATCH, {"from": "e", "to": "f", "when": "has(state._last_error)"}, {"from": "e", "to": "g", "default": True}],
        ["a", "e", "g"],
        {"a": BAD},
    ),
    Case(
        "a caught failure does not fail the run, and the catcher may fail too",
        {"a": T, "e": {"input": {"z": 1}}},
        [CATCH],
        ["a", "e"],
        {"a": BAD, "e": Failed("E_TWO")},
        codes=("E_TWO",),
    ),
    Case(
        "retries stop at the first success",
        {"a": {"retry": {"max_attempts": 3}}},
        [],
        ["a"],
        {"a": [Failed("E", retryable=True), Completed(5)]},
        output=5,
    ),
    Case(
        "no policy is one attempt",
        {"a": T},
        [],
        ["a"],
        {"a": [Failed("E", retryable=True), Completed(5)]},
        codes=("E",),
    ),
    Case(
        "what is not retryable is not retried",
        {"a": {"retry": 3}},
        [],
        ["a"],
        {"a": [Failed("E"), Completed(5)]},
        codes=("E",),
    ),
    Case(
        "max_retries is one less than the attempts",
        {"a": {"retry": {"max_retries": 1}}},
        [],
        ["a"],
        {"a": [Failed("E", retryable=True), Completed(5)]},
        output=5,
    ),
    Case(
        "branch rules go in order, the first that holds",
        {
            "a": {
                "branch": {
                    "rules": [{"condition": FALSE, "next_nodes": "b"}, {"condition": TRUE, "next_nodes": ["c", "d"]}]
                }
            },
            "b": T,
            "c": T,
            "d": T,
        },
        [],
        ["a", "c", "d"],
        X,
    ),
    Case(
        "branch default",
        {"a": {"branch": {"rules": [{"condition": FALSE, "next_nodes": "b"}], "default": "c"}}, "b": T, "c": T},
        [],
        ["a", "c"],
        X,
    ),
    Case(
        "an agent chooses",
        {
            "a": {"type": "agent", "branch": {"type": "agent_driven", "available_next_nodes": ["b", "c"]}},
            "b": T,
            "c": T,
        },
        [],
        ["a", "c"],
        {"a": Completed(1, ("c",))},
    ),
    Case(
        "an agent that chooses nothing gets the default",
        {
            "a": {
                "type": "agent",
                "branch": {"type": "agent_driven", "available_next_nodes": ["b", "c"], "default": "b"},
            },
            "b": T,
            "c": T,
        },
        [],
        ["a", "b"],
        {"a": Completed(1)},
    ),
    Case(
        "an agent may not choose what is not offered, and is asked again by its policy",
        {"a": {"type": "agent", "retry": 2, "branch": {"type": "agent_driven", "available_next_nodes": ["b"]}}, "b": T},
        [],
        ["a"],
        {"a": Completed(1, ("x",))},
        codes=("ROUTE_NOT_ALLOWED",),
    ),
    Case(
        "a rejection takes the rejection path",
        {"a": {"type": "human", "rejection_path": "r"}, "b": {"input": {"z": 1}}, "r": {"input": {"z": 2}}},
        CHAIN,
        ["a", "r"],
        {"a": Decided(approved=False)},
    ),
    Case(
        "an approval goes on",
        {"a": {"type": "human", "rejection_path": "r"}, "b": {"input": {"z": 1}}, "r": {"input": {"z": 2}}},
        CHAIN,
        ["a", "b"],
        {"a": Decided(approved=True)},
    ),
    Case(
        "a rejection without a path fails",
        {"a": {"type": "human"}, "b": T},
        CHAIN,
        ["a"],
        {"a": Decided(approved=False)},
        codes=(None,),
    ),
    Case(
        "foreach over no list",
        {"a": T, "b": T},
        [{**CHAIN[0], "foreach": "output.x"}],
        ["a"],
        X,
        codes=("FOREACH_NOT_A_LIST",),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_rule(case: Case) -> None:
    check(case)


def test_attempts_are_counted() -> None:
    nodes = {
        "a": {"type": "agent", "retry": 2, "branch": {"type": "agent_driven", "available_next_nodes": ["b"]}},
        "b": T,
    }
    ending = predict(nodes, [], {"a": Completed(1, ("x",))}).ending
    assert [(one.attempts, one.completed, one.fault) for one in ending.executions] == [(2, True, "ROUTE_NOT_ALLOWED")]
    assert [sum(asked.values()) for asked in ending.effects().values()] == [2]


def test_everything_that_completed_is_compensated_in_reverse() -> None:
    nodes: dict[str, Any] = {
        "a": {"compensate": {"action": "undo"}},
        "b": {"compensate": {"action": "undo", "on": ["cancel"]}},
        "c": {"compensate": {"action": "undo"}},
        "d": T,
    }
    chain = [{"from": source, "to": to} for source, to in ("ab", "bc", "cd")]
    ending = predict(nodes, chain, {"d": BAD}).ending
    assert [(one.node, one.certain, one.before) for one in ending.compensations] == [("a", True, ()), ("c", True, (0,))]


def test_a_node_whose_routing_failed_is_compensated() -> None:
    nodes: dict[str, Any] = {"a": {"compensate": {"action": "undo"}}, "b": T}
    ending = predict(nodes, [{"from": "a", "to": "b", "when": FALSE}], X).ending
    assert [one.node for one in ending.compensations] == ["a"]


def test_a_failure_at_the_root_may_stop_the_others() -> None:
    nodes: dict[str, Any] = {"a": T, "b": T, "c": {"output": {"s": "output.x"}}, "d": T}
    edges = [*CHAIN, {"from": "a", "to": "c"}, {"from": "c", "to": "d"}]
    prediction = predict(nodes, edges, {**X, "b": BAD})
    assert prediction.exact
    assert ran(prediction.ending) == ["a", "b"]
    assert [one.node for one in prediction.ending.maybe] == ["c", "d"]
    assert not prediction.ending.state_known


def test_the_first_of_two_failures_wins() -> None:
    nodes: dict[str, Any] = {"a": T, "b": T, "c": T}
    prediction = predict(nodes, [*CHAIN, {"from": "a", "to": "c"}], {"b": BAD, "c": Failed("E_C")})
    assert {ending.codes for ending in prediction.endings} == {("E_BAD",), ("E_C",)}
    assert not prediction.open


def test_two_forked_writers_of_one_path_are_left_open() -> None:
    write = {"output": {"s": "output.x"}}
    nodes: dict[str, Any] = {"a": T, "b": write, "c": write}
    prediction = predict(nodes, [*CHAIN, {"from": "a", "to": "c"}], X)
    assert prediction.open
    assert not prediction.exact


def test_a_forked_reader_of_what_the_other_writes_is_left_open() -> None:
    nodes: dict[str, Any] = {"a": T, "b": T, "c": {"input": {"v": "has(nodes.b) ? 1 : 0"}}}
    assert predict(nodes, [*CHAIN, {"from": "a", "to": "c"}], X).open
