"""Every static check: what it refuses or warns of, where, and what it suggests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.definition import Checked, NodeType, check
from penstock.core.definition.problem import Code
from penstock.expr.evaluator import ExpressionEvaluator

Check = Callable[..., Checked]

PAGES = Path(__file__).parents[4] / "docs" / "errors"

ERRORS = [
    ("UNKNOWN_FIELD", "/nodes/a/dependants", "nodes: [{id: a, dependants: []}]"),
    ("UNKNOWN_FIELD", "/nodes/a/loop/max_iteration", "nodes: [{id: a, loop: {max_iteration: 3}}]"),
    ("MISSING_FIELD", "/transitions/0", "nodes: [{id: a}]\ntransitions: [{from: a}]"),
    ("MISSING_FIELD", "/", "name: x"),
    ("WRONG_VALUE", "/", "just text"),
    ("WRONG_VALUE", "/nodes/a/timeout", "nodes: [{id: a, timeout: soon}]"),
    ("WRONG_VALUE", "/nodes/a/fan_out", "nodes: [{id: a, fan_out: al}]"),
    ("WRONG_VALUE", "/nodes/0", "nodes: [a]"),
    ("WRONG_VALUE", "/nodes/a/retry", "nodes: [{id: a, retry: 0}]"),
    ("WRONG_VALUE", "/nodes/a/wait", "nodes: [{id: a, type: wait}]"),
    ("WRONG_VALUE", "/nodes/a/human/escalation_policy", "nodes: [{id: a, human: {escalation_policy: auto_aprove}}]"),
    ("MISSING_FIELD", "/nodes/a", "nodes: [{id: a, type: workflow}]"),
    ("MISSING_FIELD", "/nodes/a/config", "nodes: [{id: a, type: migration}]"),
    ("SPELLED_TWICE", "/nodes/a/input_mapping", "nodes: [{id: a, input: 1, input_mapping: 2}]"),
    ("SPELLED_TWICE", "/nodes/a/timeout_ms", "nodes: [{id: a, timeout: 1, timeout_ms: 2}]"),
    ("MISPLACED", "/nodes/a/wait", "nodes: [{id: a, type: http, wait: 5m}]"),
    ("DUPLICATE_ID", "/nodes/a", "nodes: [{id: a}, {id: a}]"),
    (
        "DUPLICATE_ID",
        "/transitions/t",
        "nodes: {a: , b: }\ntransitions: [{id: t, from: a, to: b}, {id: t, from: a, to: b}]",
    ),
    ("UNKNOWN_NODE", "/transitions/0/from", "nodes: {a: }\ntransitions: [{from: x, to: a}]"),
    ("UNKNOWN_NODE", "/nodes/a/dependents", "nodes: {a: {dependents: x}}"),
    ("UNKNOWN_NODE", "/nodes/a/dependencies/0", "nodes: {a: {dependencies: [x]}}"),
    ("UNKNOWN_NODE", "/nodes/a/loop/timeout_path", "nodes: {a: {loop: {max_iterations: 1, timeout_path: x}}}"),
    ("UNKNOWN_NODE", "/nodes/a/rejection_path", "nodes: {a: {type: human, rejection_path: x}}"),
    ("UNKNOWN_NODE", "/nodes/a/branch/rules/0/next_nodes", "nodes: {a: {branch: {rules: [{next_nodes: x}]}}}"),
    ("UNKNOWN_NODE", "/initial_node_id", "nodes: {a: }\ninitial_node_id: x"),
    ("UNREACHABLE_NODE", "/nodes/b", "nodes: {a: , b: }\nentry: a"),
    ("NO_ENTRY", "/nodes", "nodes: []"),
    (
        "NO_TERMINAL",
        "/nodes",
        "nodes: {a: , b: }\nentry: a\ntransitions: [{from: a, to: b}, {from: b, to: a, max_iterations: 2}]",
    ),
    ("CYCLE_WITHOUT_LIMIT", "/nodes/a", "nodes: {a: {dependents: b}, b: {dependents: [a, c]}, c: }\nentry: a"),
    ("CYCLE_WITHOUT_LIMIT", "/nodes/a", "nodes: {a: {dependents: [a, b]}, b: }\nentry: a"),
    ("CYCLE_WITHOUT_LIMIT", "/nodes/a/loop", "nodes: {a: {loop: {condition: output.x}}}"),
    (
        "LOOP_NOT_BACK",
        "/nodes/a/loop/loop_back_to",
        "nodes: {a: {dependents: b, loop: {max_iterations: 2, loop_back_to: b}}, b: }",
    ),
    ("ROUTED_TWICE", "/nodes/a/branch", "nodes: {a: {branch: {default: b}}, b: }\ntransitions: [{from: a, to: b}]"),
    ("GROUP_NOT_OPENED", "/nodes/b/fan_in", "nodes: {a: {dependents: b}, b: {fan_in: all}}"),
    (
        "GROUP_NOT_OPENED",
        "/transitions/0/synchronize/group",
        "nodes: {a: , b: }\ntransitions: [{from: a, to: b, synchronize: {group: g}}]",
    ),
    (
        "GROUP_NOT_OPENED",
        "/transitions/0/synchronize",
        "nodes: {a: , b: }\ntransitions: [{from: a, to: b, synchronize: {}}]",
    ),
    (
        "GROUP_NOT_OPENED",
        "/transitions/0/synchronization/joins_transition",
        "nodes: {a: , b: }\ntransitions: [{from: a, to: b, synchronization: {joins_transition: t}}]",
    ),
    (
        "GROUP_JOINED_TWICE",
        "/transitions/2/synchronize",
        """
        nodes: {a: , b: , c: , d: }
        transitions:
          - {from: a, to: b, spawn: 2, group: g}
          - {from: b, to: c, synchronize: {group: g}}
          - {from: b, to: d, synchronize: {group: g}}
        """,
    ),
    (
        "GROUP_JOINED_TWICE",
        "/transitions/3/synchronize",
        """
        nodes: {a: , b: , c: , d: }
        transitions:
          - {from: a, to: b, group: g}
          - {from: a, to: c, group: g}
          - {from: b, to: d, synchronize: {group: g}}
          - {from: c, to: d, synchronize: {group: g, wait_for: any}}
        """,
    ),
    (
        "JOIN_SKIPS_GROUP",
        "/transitions/2/synchronize",
        """
        nodes: {a: , b: , c: , d: }
        transitions:
          - {from: a, to: b, spawn: 2, group: outer}
          - {from: b, to: c, spawn: 2, group: inner}
          - {from: c, to: d, synchronize: {group: outer}}
        """,
    ),
    (
        "JOIN_AMBIGUOUS",
        "/transitions/4",
        """
        nodes: {a: , b: , c: , d: , e: {fan_in: all}}
        transitions:
          - {from: a, to: b, spawn: 2, group: one}
          - {from: a, to: c, spawn: 2, group: two}
          - {from: b, to: d}
          - {from: c, to: d}
          - {from: d, to: e}
        """,
    ),
    (
        "JOIN_AMBIGUOUS",
        "/transitions/0",
        "nodes: {a: {fan_out: all}, b: {fan_in: all}}\ntransitions: [{from: a, to: b}]",
    ),
    (
        "JOIN_AMBIGUOUS",
        "/nodes/b/loop/timeout_path",
        """
        nodes: {a: , b: {loop: {max_iterations: 2, timeout_path: c}}, c: {fan_in: all}}
        transitions: [{from: a, to: b, spawn: 2}, {from: b, to: c}]
        """,
    ),
    (
        "JOIN_NEVER_MET",
        "/transitions/1",
        "nodes: {a: , b: , c: {fan_in: {m_of_n: 3}}}\ntransitions: [{from: a, to: b, spawn: 2}, {from: b, to: c}]",
    ),
    ("ROOT_UNAVAILABLE", "/nodes/a/input", "nodes: {a: {input: {x: output.y}}}"),
    ("ROOT_UNAVAILABLE", "/nodes/a/output", "nodes: {a: {output: {x: _branch.index}}}"),
    ("ROOT_UNAVAILABLE", "/nodes/a/output", "nodes: {a: {output: {x: loop.iteration}}}"),
    ("ROOT_UNAVAILABLE", "/output", "nodes: {a: }\noutput: {x: loop.iteration}"),
    ("READ_UNKNOWN", "/nodes/a/input", "nodes: {a: {input: nodes.x.output}}"),
    ("READ_UNKNOWN", "/nodes/b/input", "nodes: {a: {dependents: b}, b: {input: nodes.a.result}}"),
    ("READ_UNKNOWN", "/output", "nodes: {a: }\noutput: _branches.x"),
    ("SCHEMA_INVALID", "/nodes/a/input_schema", "nodes: {a: {input_schema: {type: objct}}}"),
    ("SCHEMA_INVALID", "/context_schema", "nodes: {a: }\ncontext_schema: {required: x}"),
    (
        "SCHEMA_FORBIDS",
        "/nodes/a/input",
        "nodes: {a: {input: input.total}}\ninput_schema: {properties: {x: {}}, additionalProperties: false}",
    ),
    (
        "SCHEMA_FORBIDS",
        "/nodes/a/output",
        "nodes: {a: {output: {x: output.a.b}, output_schema: {properties: {a: {type: string}}}}}",
    ),
    ("LIMIT_EXCEEDED", "/transitions/0/spawn", "nodes: {a: , b: }\ntransitions: [{from: a, to: b, spawn: 20000}]"),
    ("EXPR_COMPILE", "/nodes/a/input/x", "nodes: {a: {input: {x: input. + 1}}}"),
    ("EXPR_COMPILE", "/nodes/a/output/append/x.y", "nodes: {a: {output: {append: {x.y: output +}}}}"),
    (
        "EXPR_COMPILE",
        "/nodes/a/loop/condition/expression",
        "nodes: {a: {loop: {max_iterations: 2, condition: {type: cel, expression: outpt.x}}}}",
    ),
    (
        "EXPR_CONDITION",
        "/transitions/0/condition",
        "nodes: {a: , b: }\ntransitions: [{from: a, to: b, condition: {type: sel}}]",
    ),
]

WARNINGS = [
    ("QUEUE_DEFAULT", "/nodes/a", "nodes: {a: }"),
    ("ARRIVALS_NOT_JOINED", "/nodes/c/dependencies", "nodes: {a: , b: , c: {dependencies: [a, b]}}"),
    (
        "DEPENDENCY_UNDECLARED",
        "/nodes/c/dependencies",
        "nodes: {a: , b: {dependents: c}, c: {dependencies: [a], wait_for_all: true}}",
    ),
    ("ROUTE_DEAD", "/nodes/a/dependents", "nodes: {a: {branch: {default: b}, dependents: [c]}, b: , c: }"),
    (
        "ROUTE_DEAD",
        "/nodes/a/loop/break_path",
        "nodes: {a: {branch: {default: b}, loop: {max_iterations: 2, break_path: b}}, b: }",
    ),
    (
        "ROUTE_DEAD",
        "/nodes/c/dependencies/0",
        "nodes: {a: {branch: {default: b}}, b: {dependents: c}, c: {dependencies: [a]}}",
    ),
    (
        "LIMIT_WITHOUT_CYCLE",
        "/transitions/0/max_iterations",
        "nodes: {a: , b: }\ntransitions: [{from: a, to: b, max_iterations: 2}]",
    ),
    ("READ_UNWRITTEN", "/nodes/a/input", "nodes: {a: {input: state.total}}"),
    ("READ_UNWRITTEN", "/nodes/a/input", "nodes: {a: {input: state.total, output: {total: output.x}}}"),
    ("READ_UNWRITTEN", "/nodes/a/input", "nodes: {a: {input: nodes.b.output, dependents: b}, b: }"),
    (
        "READ_UNWRITTEN",
        "/nodes/c/input",
        """
        nodes: {a: , b: , c: {input: nodes.b.output, fan_in: all}}
        transitions: [{from: a, to: b, spawn: 2}, {from: b, to: c}]
        """,
    ),
    (
        "READ_UNWRITTEN",
        "/output",
        "nodes: {a: , b: }\ntransitions: [{from: a, to: b, spawn: 2}]\noutput: nodes.b.output",
    ),
    (
        "READ_UNWRITTEN",
        "/nodes/c/input",
        """
        nodes: {a: , b: {output: {total: output.x}}, c: {input: state.total}}
        transitions: [{from: a, to: b, spawn: 2}, {from: b, to: c, synchronize: {}}]
        """,
    ),
]

FINE = [
    pytest.param(
        "nodes: {a: , b: {input: nodes.a.output}}\ntransitions: [{from: a, to: b, spawn: 2}]", id="read outward"
    ),
    pytest.param("nodes: {a: {output: {x.y: output.z}, dependents: b}, b: {input: state.x}}", id="written below"),
    pytest.param("nodes: {a: {output: {x: output}, dependents: b}, b: {input: state.x.y}}", id="written above"),
    pytest.param("nodes: {a: {output: {total: state.total + 1}}}\nstate: {total: 0}", id="there from the start"),
    pytest.param(
        "nodes: {a: {input: nodes.a.output, loop: {max_iterations: 2}}}", id="its own output of the last iteration"
    ),
    pytest.param(
        """
        nodes: {a: , b: , c: {input: state.found, fan_in: all, merge: {target: found}}}
        transitions: [{from: a, to: b, spawn: 2}, {from: b, to: c}]
        """,
        id="merged by the join",
    ),
    pytest.param(
        "nodes: {a: , b: }\ninfinite: true\nentry: a\ntransitions: [{from: a, to: b}, {from: b, to: a}]", id="infinite"
    ),
    pytest.param(
        "nodes: {a: {dependents: b, limits: {max_hops: 9}}, b: {type: human, rejection_path: a}}\nentry: a", id="rework"
    ),
    pytest.param("nodes: {a: , b: , c: {dependencies: [a, b], wait_for_all: false}}", id="meant to run per arrival"),
    pytest.param(
        "nodes: {a: {dependents: b}, b: {input: input.x}}\ninput_schema: {properties: {y: {}}}", id="an open schema"
    ),
    pytest.param(
        "nodes: {a: }\ntransitions: [{from: a, to: a, max_iterations: 2, when: output.more}]\nx-mine: 1", id="x- keys"
    ),
]


def found(checked: Checked, severity: str) -> set[tuple[str, str]]:
    return {(problem.code, problem.path) for problem in checked.problems if problem.severity == severity}


@pytest.mark.parametrize(("code", "path", "text"), ERRORS)
def test_an_error_is_found_at_its_place(checked: Check, code: str, path: str, text: str) -> None:
    result = checked(text)
    assert (code, path) in found(result, "error")
    assert result.graph is None
    assert all(problem.line for problem in result.problems)


@pytest.mark.parametrize(("code", "path", "text"), WARNINGS)
def test_a_warning_does_not_stop_the_graph(checked: Check, code: str, path: str, text: str) -> None:
    result = checked(text)
    assert (code, path) in found(result, "warning")
    assert result.graph is not None


@pytest.mark.parametrize("text", FINE)
def test_what_is_in_order_is_not_complained_about(checked: Check, text: str) -> None:
    result = checked(text)
    assert {problem.code for problem in result.problems} <= {"QUEUE_DEFAULT", "NO_TERMINAL"}


def test_all_problems_are_reported_at_once_in_the_order_of_the_text(checked: Check) -> None:
    result = checked(
        """
        nodes:
          - {id: enrich_data, retrry: 3, queue: q}
          - {id: b, queue: q, input: {x: "input. +"}, dependents: [enrich_dta]}
          - {id: c, queue: q, output: {y: outptu.x}}
        """
    )
    assert [(problem.code, problem.line) for problem in result.problems] == [
        ("UNKNOWN_FIELD", 3),
        ("EXPR_COMPILE", 4),
        ("UNKNOWN_NODE", 4),
        ("EXPR_COMPILE", 5),
    ]
    hints = [problem.hint for problem in result.problems]
    assert "`retry`" in hints[0]
    assert "`enrich_data`" in hints[2]


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        pytest.param('nodes: {a: {input: "input.x + outpt.y"}}', 1, 31, id="quoted"),
        pytest.param("nodes: {a: {input: input.x + outpt.y}}", 1, 30, id="plain"),
        pytest.param('{"nodes": [\n  {"id": "a", "input": "outpt.x"}]}', 2, 25, id="JSON"),
        pytest.param("nodes:\n  a:\n    input: |\n      input.x +\n      outpt.y", 5, 1, id="block"),
    ],
)
def test_an_expression_is_wrong_at_a_line_and_column_of_the_file(
    checked: Check, text: str, line: int, column: int
) -> None:
    problem = next(problem for problem in checked(text).problems if problem.code == "EXPR_COMPILE")
    assert (problem.line, problem.column) == (line, column)


def test_under_strict_types_a_task_without_a_queue_is_an_error(checked: Check) -> None:
    assert ("QUEUE_DEFAULT", "/nodes/a") in found(checked("nodes: {a: }", strict_types=True), "error")
    assert ("QUEUE_DEFAULT", "/nodes/a") in found(checked("nodes: {a: }\nstrict_types: true"), "error")
    assert checked("nodes: {a: {type: x}}", strict_types=True, types={"x": NodeType(queue="q")}).problems == ()


def test_a_config_must_satisfy_the_schema_of_its_type(checked: Check) -> None:
    types = {"mail": NodeType(queue="mail", config_schema={"required": ["to"]})}
    refused = checked("nodes: {a: {type: mail, config: {}}}", types=types)
    assert found(refused, "error") == {("CONFIG_REFUSED", "/nodes/a/config")}
    assert checked("nodes: {a: {type: mail, config: {to: me}}}", types=types).problems == ()


@pytest.mark.parametrize(
    "definition",
    [
        pytest.param({"nodes": [{"id": "a", "config": {"x": "y" * 1_100_000}}]}, id="bytes"),
        pytest.param({"nodes": [{"id": f"n{index}"} for index in range(10_001)]}, id="nodes"),
    ],
)
def test_a_definition_beyond_its_limits_is_refused(definition: Any, evaluator: ExpressionEvaluator) -> None:  # noqa: ANN401 - any JSON
    assert [problem.code for problem in check(definition, evaluator=evaluator).problems] == ["DEFINITION_TOO_LARGE"]


def test_a_definition_that_nests_without_end_is_refused(evaluator: ExpressionEvaluator) -> None:
    inner: Any = {}
    for _ in range(5000):
        inner = {"x": inner}
    result = check({"nodes": [{"id": "a", "config": inner}]}, evaluator=evaluator)
    assert [problem.code for problem in result.problems] == ["DEFINITION_TOO_LARGE"]


def test_deep_nesting_of_groups_and_loops_is_refused_in_good_time(evaluator: ExpressionEvaluator) -> None:
    nodes: list[dict[str, Any]] = [{"id": f"n{index}", "type": "pass"} for index in range(2000)]
    edges = [{"from": f"n{index}", "to": f"n{index + 1}", "spawn": 1} for index in range(1999)]
    for node in nodes[1:]:
        node["loop"] = {"max_iterations": 2, "loop_back_to": "n0"}
    result = check({"nodes": nodes, "transitions": edges}, evaluator=evaluator)
    assert {problem.code for problem in result.errors} == {"LIMIT_EXCEEDED"}


def test_every_code_is_on_the_page() -> None:
    page = (PAGES / "DEFINITION_INVALID.md").read_text()
    assert [code for code in Code if f"`{code}`" not in page] == []


WORDS = [
    *("id", "from", "to", "when", "loop", "branch", "rules", "next_nodes", "default", "group", "foreach", "x"),
    *("fan_in", "fan_out", "synchronize", "merge", "input", "output", "dependents", "dependencies", "human", "wait"),
]
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["a", "b", "all", "5m", "output.x", "$.x", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=12,
)


@given(nodes=ANYTHING, transitions=ANYTHING)
def test_whatever_is_written_gets_an_answer(nodes: Any, transitions: Any) -> None:  # noqa: ANN401 - any JSON
    evaluator = ExpressionEvaluator()
    result = check({"nodes": nodes, "transitions": transitions}, evaluator=evaluator)
    assert (result.graph is None) == bool(result.errors)


PARTS = st.fixed_dictionaries(
    {"id": st.sampled_from("abcd")},
    optional={
        "dependents": st.lists(st.sampled_from("abcd"), max_size=2),
        "fan_out": st.sampled_from(["all", "first_match"]),
        "fan_in": st.sampled_from(["all", "any"]),
        "loop": st.fixed_dictionaries({"max_iterations": st.just(2), "loop_back_to": st.sampled_from("abcd")}),
        "branch": st.fixed_dictionaries({"default": st.sampled_from("abcd")}),
    },
)
EDGES = st.fixed_dictionaries(
    {"from": st.sampled_from("abcd"), "to": st.sampled_from("abcd")},
    optional={
        "spawn": st.just(2),
        "group": st.sampled_from("gh"),
        "max_iterations": st.just(2),
        "synchronize": st.fixed_dictionaries({}, optional={"group": st.sampled_from("gh")}),
    },
)


@given(
    nodes=st.lists(PARTS, max_size=4, unique_by=lambda node: str(node["id"])), transitions=st.lists(EDGES, max_size=6)
)
def test_a_graph_that_compiles_leads_only_to_what_exists(nodes: list[Any], transitions: list[Any]) -> None:
    graph = check({"nodes": nodes, "transitions": transitions}, evaluator=ExpressionEvaluator()).graph
    if graph is None:
        return
    for node in graph.nodes.values():
        for transition in (*node.transitions, *node.on_error):
            assert transition.to in graph.nodes
            assert transition.group is None or transition.group in graph.groups
            if transition.joins is not None:
                join = graph.groups[transition.joins]
                assert join is not None
                assert join.target == transition.to
