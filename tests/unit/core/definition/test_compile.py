"""What each way of writing compiles to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from penstock.core.definition import FORMAT, Checked, DefinitionInvalid, NodeType, check, compile_definition
from penstock.core.model.graph import (
    ChildRule,
    ForeachRule,
    GraphRule,
    JoinRule,
    MergeRule,
    RetryRule,
    WaitRule,
)
from penstock.expr.evaluator import ExpressionEvaluator

Compile = Callable[[str], GraphRule]
Check = Callable[..., Checked]

FORKED = """
nodes: [{id: a, fan_out: %s}, {id: b}, {id: c}, {id: d, fan_in: %s}]
transitions: [{from: a, to: b}, {from: a, to: c}, {from: b, to: d}, {from: c, to: d}]
"""


def test_both_spellings_of_one_graph_compile_to_the_same(compiled: Compile) -> None:
    edges = compiled("""
        nodes: [{id: a}, {id: b}, {id: c}]
        transitions: [{from: a, to: b}, {from: a, to: c}]
    """)
    nodes = compiled('{"nodes": [{"node_id": "a", "dependents": ["b", "c"]}, {"id": "b"}, {"id": "c"}]}')
    dependencies = compiled("nodes: {a: , b: {dependencies: [a]}, c: {dependencies: [a]}}")
    assert edges == nodes == dependencies


def test_the_compiled_form_survives_the_wire(compiled: Compile) -> None:
    graph = compiled(FORKED % ("all", "{m_of_n: 2}"))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(graph), type=GraphRule) == graph
    assert FORMAT == 1


def test_the_hash_is_of_the_source_in_its_order(evaluator: ExpressionEvaluator) -> None:
    def hash_of(definition: dict[str, Any]) -> str:
        return check(definition, evaluator=evaluator).hash

    assert hash_of({"nodes": [{"id": "a"}]}) == hash_of({"nodes": [{"id": "a"}]})
    assert hash_of({"nodes": {"a": {}, "b": {}}}) != hash_of({"nodes": {"b": {}, "a": {}}})


def test_fan_out_all_opens_one_group_named_after_the_node(compiled: Compile) -> None:
    graph = compiled(FORKED % ("all", "all"))
    assert [transition.group for transition in graph.nodes["a"].transitions] == ["a", "a"]
    assert graph.nodes["a"].fan_out == "all"
    assert [graph.nodes[name].transitions[0].joins for name in "bc"] == ["a", "a"]
    assert graph.groups == {"a": JoinRule("d")}


@pytest.mark.parametrize(
    ("fan_in", "join"),
    [
        pytest.param("any", JoinRule("d", 1, on_empty="fail"), id="any is one of n"),
        pytest.param("{m_of_n: 2}", JoinRule("d", 2, on_empty="fail"), id="m of n"),
        pytest.param("{wait_for: {m_of_n: 1}, on_empty: complete}", JoinRule("d", 1), id="on_empty overrides"),
        pytest.param(
            "{wait_for: all, on_sibling_failure: settle, timeout: 5m, on_timeout: proceed_with_available}",
            JoinRule("d", 0, "settle", timeout=300_000, on_timeout="proceed_with_available"),
            id="settling, with a limit of time",
        ),
        pytest.param(
            "all, merge: {strategy: collect, target: state.found}, on_early_complete: abandon",
            JoinRule("d", on_early_complete="abandon", merge=MergeRule("append", "found")),
            id="merge beside it; collect is append",
        ),
    ],
)
def test_fan_in_is_a_join_of_the_innermost_group(compiled: Compile, fan_in: str, join: JoinRule) -> None:
    assert compiled(FORKED % ("all", fan_in)).groups == {"a": join}


@pytest.mark.parametrize(
    ("opening", "group"),
    [
        pytest.param("foreach: output.items", "a->b", id="unnamed, the transition's id"),
        pytest.param("id: each, spawn: 3", "each", id="a given id"),
        pytest.param("group: own, foreach: {in: output.items, item: order, max_parallel: 4}", "own", id="a given name"),
        pytest.param("group: own", "own", id="a name alone"),
    ],
)
def test_a_transition_opens_a_group(compiled: Compile, opening: str, group: str) -> None:
    graph = compiled(f"nodes: {{a: , b: }}\ntransitions: [{{from: a, to: b, {opening}}}]")
    assert graph.nodes["a"].transitions[0].group == group
    assert graph.groups == {group: None}


def test_foreach_keeps_its_names(compiled: Compile) -> None:
    graph = compiled(
        "nodes: {a: , b: }\ntransitions: [{from: a, to: b, foreach: {in: input.x, item: y, max_parallel: 2}}]"
    )
    assert graph.nodes["a"].transitions[0].foreach == ForeachRule("input.x", "y", 2)


def test_a_join_may_name_the_transition_that_opened_the_group(compiled: Compile) -> None:
    graph = compiled("""
        nodes: {a: , b: , c: }
        transitions:
          - {id: out, from: a, to: b, spawn: 2, group: copies}
          - {from: b, to: c, synchronization: {wait_for: any, joins_transition: out}}
    """)
    assert graph.nodes["b"].transitions[0].joins == "copies"
    assert graph.groups["copies"] == JoinRule("c", 1, on_empty="fail")


def test_nested_groups_join_the_inner_one_first(compiled: Compile) -> None:
    graph = compiled("""
        nodes: {a: , b: , c: , inner: {fan_in: all}, outer: {fan_in: all}}
        transitions:
          - {from: a, to: b, foreach: input.x, group: outside}
          - {from: b, to: c, foreach: output.y, group: inside}
          - {from: c, to: inner}
          - {from: inner, to: outer}
    """)
    assert graph.groups == {"outside": JoinRule("outer"), "inside": JoinRule("inner")}


def test_transitions_stand_by_priority_then_declaration_with_the_default_last(compiled: Compile) -> None:
    graph = compiled("""
        nodes: {a: , b: , c: , d: , e: }
        transitions:
          - {from: a, to: e, default: true}
          - {from: a, to: b, priority: 2}
          - {from: a, to: c, when: output.ok}
          - {from: a, to: d}
    """)
    found = [(transition.tier, transition.to) for transition in graph.nodes["a"].transitions]
    assert found == [(1, "c"), (1, "d"), (2, "b"), (3, "e")]


def test_ids_of_transitions_are_readable_and_never_clash(compiled: Compile) -> None:
    graph = compiled(
        """
        nodes: {a: , b: }
        transitions: [{from: a, to: b}, {from: a, to: b}, {id: "a->b#2", from: a, to: b}]
    """.replace('"a->b#2"', "a-b")
    )
    assert [transition.id for transition in graph.nodes["a"].transitions] == ["a->b", "a->b#2", "a-b"]


def test_after_a_failure_error_transitions_and_readers_of_the_last_error_are_candidates(compiled: Compile) -> None:
    graph = compiled("""
        nodes: {a: , b: , c: , d: }
        transitions:
          - {from: a, to: b}
          - {id: caught, from: a, to: c, on: error}
          - {id: timed_out, from: a, to: d, when: has(state._last_error) && state._last_error.code == 'TIMEOUT'}
    """)
    node = graph.nodes["a"]
    assert {transition.id for transition in node.on_error} == {"caught", "timed_out"}
    assert {transition.id for transition in node.transitions} == {"a->b", "timed_out"}


def test_a_node_with_only_an_error_path_is_terminal(compiled: Compile) -> None:
    graph = compiled("nodes: {a: , b: }\ntransitions: [{from: a, to: b, on: error}]")
    assert graph.nodes["a"].terminal


@pytest.mark.parametrize(
    ("off", "on"),
    [
        pytest.param(
            "{id: a, dependents: b, loop: {enabled: false, max_iterations: 3}}", "{id: a, dependents: b}", id="loop"
        ),
        pytest.param(
            "{id: a, dependents: b, branch: {enabled: false, default: c}}", "{id: a, dependents: b}", id="branch"
        ),
        pytest.param(
            "{id: a, dependents: b, retry: 9, enabled: false}", "{id: a, type: task, dependents: b}", id="node"
        ),
    ],
)
def test_what_is_switched_off_is_as_if_it_were_not_there(compiled: Compile, off: str, on: str) -> None:
    with_it, without = (compiled(f"nodes: [{text}, {{id: b}}]") for text in (off, on))
    assert with_it.nodes["a"].transitions == without.nodes["a"].transitions
    assert (with_it.nodes["a"].loop, with_it.nodes["a"].retry) == (None, RetryRule())
    assert with_it.nodes["a"].behaviour == ("pass" if "retry" in off else "task")


def test_a_transition_that_is_switched_off_is_gone(compiled: Compile) -> None:
    graph = compiled("nodes: {a: , b: }\ntransitions: [{from: a, to: b, enabled: false}]")
    assert graph.entries == ("a", "b")


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        pytest.param("nodes: {a: {dependents: c}, b: {dependents: c}, c: }", ("a", "b"), id="several"),
        pytest.param("initial_node_id: b\nnodes: {b: }", ("b",), id="given"),
        pytest.param(
            "nodes: {a: {dependents: b}, b: {dependents: c, loop: {max_iterations: 2, loop_back_to: a}}, c: }",
            ("a",),
            id="a loop-back does not count",
        ),
        pytest.param(
            "nodes: {a: , b: , c: }\n"
            "transitions: [{from: a, to: b}, {from: b, to: c}, {from: b, to: a, max_iterations: 3}]",
            ("a",),
            id="nor does a back-edge",
        ),
        pytest.param("nodes: {a: {loop: {max_iterations: 2}}}", ("a",), id="nor a loop to itself"),
    ],
)
def test_entries(compiled: Compile, text: str, entries: tuple[str, ...]) -> None:
    assert compiled(text).entries == entries


def test_a_node_knows_the_loops_around_it(compiled: Compile) -> None:
    graph = compiled("""
        nodes:
          start: {dependents: a}
          a: {dependents: b}
          b: {dependents: inner}
          inner: {dependents: outer, loop: {max_iterations: 2, loop_back_to: b}}
          outer: {dependents: end, loop: {max_iterations: 2, loop_back_to: a}}
          end:
    """)
    assert {name: set(node.enclosing_loops) for name, node in graph.nodes.items()} == {
        "start": set(),
        "a": {"outer"},
        "b": {"inner", "outer"},
        "inner": {"inner", "outer"},
        "outer": {"outer"},
        "end": set(),
    }


@pytest.mark.parametrize(
    ("written", "rule"),
    [
        pytest.param("3", RetryRule(3), id="bare: attempts"),
        pytest.param("{max_attempts: 3, backoff_ms: 1000}", RetryRule(3, "fixed", 1000), id="attempts"),
        pytest.param("{max_retries: 3}", RetryRule(4), id="retries come after the first"),
        pytest.param(
            "{max_attempts: 5, delay: 1s, multiplier: 3}", RetryRule(5, "exponential", 1000, 3.0), id="multiplier"
        ),
        pytest.param(
            "{max_attempts: 5, backoff: linear, delay_ms: 20, max_delay: 1m, jitter: 0.1}",
            RetryRule(5, "linear", 20, 2.0, 60_000, 0.1),
            id="linear",
        ),
    ],
)
def test_retries(compiled: Compile, written: str, rule: RetryRule) -> None:
    assert compiled(f"nodes: [{{id: a, retry: {written}}}]").nodes["a"].retry == rule


@pytest.mark.parametrize(
    ("written", "milliseconds"),
    [
        ("timeout: 500ms", 500),
        ("timeout: 1.5s", 1500),
        ("timeout: 2", 2000),
        ("timeout: 0.25", 250),
        ("timeout_ms: 10", 10),
        ("timeout_sec: 10", 10_000),
        ("timeout_hours: 1", 3_600_000),
        ("timeout: 7d", 604_800_000),
    ],
)
def test_durations(compiled: Compile, written: str, milliseconds: int) -> None:
    assert compiled(f"nodes: [{{id: a, {written}}}]").nodes["a"].timeout == milliseconds


def test_blocks_of_the_other_behaviours(compiled: Compile) -> None:
    graph = compiled("""
        nodes:
          call: {type: workflow_call, workflow: fulfil@2, on_failure: catch, inherit_artifacts: true, dependents: pause}
          pause: {wait: 5m, dependents: hear}
          hear: {wait: {signal: paid, match: output.amount > 1, timeout: 1h, on_timeout: continue}, dependents: ask}
          ask: {type: human, rejection_path: stop}
          stop: {type: pass}
    """)
    assert graph.nodes["call"].child == ChildRule("fulfil", "2", "catch", inherit_artifacts=True)
    assert graph.nodes["pause"].wait == WaitRule(300_000)
    assert graph.nodes["hear"].wait == WaitRule(None, None, "paid", "output.amount > 1", 3_600_000, "continue")
    human = graph.nodes["ask"].human
    assert human is not None
    assert human.rejection_path == ("stop",)


def test_a_registered_type_gives_what_the_node_does_not_say(evaluator: ExpressionEvaluator) -> None:
    schema = {"type": "object", "required": ["model"]}
    kind = NodeType(queue="gpu", config={"model": "s"}, config_schema=schema, retry=RetryRule(4), timeout=9)
    definition = {"nodes": [{"id": "a", "type": "infer", "config": {"size": 1}, "timeout": 1}]}
    node = compile_definition(definition, evaluator=evaluator, types={"infer": kind}).nodes["a"]
    assert (node.queue, node.config, node.retry, node.timeout) == ("gpu", {"model": "s", "size": 1}, RetryRule(4), 1000)


def test_the_raising_variant_carries_every_problem(evaluator: ExpressionEvaluator) -> None:
    with pytest.raises(DefinitionInvalid) as caught:
        compile_definition({"nodes": [{"id": "a", "retrry": 1, "dependents": ["b"]}]}, evaluator=evaluator)
    problems = caught.value.attributes["problems"]
    assert isinstance(problems, tuple)
    assert {problem.code for problem in problems if problem.severity == "error"} == {"UNKNOWN_FIELD", "UNKNOWN_NODE"}


def test_run_settings(compiled: Compile) -> None:
    graph = compiled("""
        name: order
        version: "2"
        state: {count: 0}
        limits: {max_hops: 50, deadline_s: 60}
        search_attributes: {customer: keyword}
        standalone: false
        x-owner: me
        nodes: {a: }
    """)
    assert (graph.name, graph.version, graph.state, graph.deadline) == ("order", "2", {"count": 0}, 60_000)
    assert (graph.limits.max_hops, graph.standalone) == (50, False)
    assert graph.search_attributes == {"customer": "keyword"}


def test_compiling_is_deterministic(compiled: Compile) -> None:
    text = FORKED % ("all", "all")
    assert msgspec.msgpack.encode(compiled(text)) == msgspec.msgpack.encode(compiled(text))
