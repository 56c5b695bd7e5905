"""Every definition printed in the seeds compiles as it stands, and means what its text says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.core.definition import Checked, check
from penstock.core.model.graph import (
    AgentRule,
    CompensateRule,
    ConfigRule,
    HumanRule,
    LoopRule,
    MigrationRule,
    NodeRule,
    RetryRule,
)
from penstock.expr.evaluator import ExpressionEvaluator
from penstock.notation import read_text

FIXTURES = Path(__file__).parents[3] / "fixtures"
PRINTED = sorted(path.stem for path in (FIXTURES / "definitions").glob("*.jsonc") if path.stem != "patch")


def printed(name: str) -> dict[str, Any]:
    data = read_text((FIXTURES / "definitions" / f"{name}.jsonc").read_text()).data
    if "type" not in data:  # the text prints a loop without its node
        data = {"node_id": name, "type": "task", **data}
    return data  # type: ignore[no-any-return]


def named_in(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON
    """Every other node that a printed node speaks of."""
    paths = {
        "dependencies",
        "dependents",
        "next_nodes",
        "default",
        "available_next_nodes",
        "break_path",
        "timeout_path",
    }
    if isinstance(value, dict):
        for key, item in value.items():
            if key in paths:
                yield from item
            elif key in {"node", "loop_back_to"}:
                yield item
            elif key == "expression":
                yield from (word.split(".")[1] for word in item.split() if word.startswith("ctx."))
            else:
                yield from named_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from named_in(item)


def wrapped(node: dict[str, Any]) -> dict[str, Any]:
    """The node with stubs for its neighbours; who is only read comes first."""
    own = node.get("node_id") or node["id"]
    stubs = [name for name in dict.fromkeys(named_in(node)) if name != own]
    nodes = [{"id": name, "type": "pass"} for name in stubs]
    leads_to = set(named_in({key: node[key] for key in ("dependents", "branch", "loop") if key in node}))
    leads_to -= {name for name in stubs if name in set(read_by(node))}
    before = [name for name in stubs if name not in leads_to]
    edges = [{"from": name, "to": own} for name in before]
    return {"nodes": [*nodes, node], "edges": edges}


def read_by(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON
    if isinstance(value, dict):
        conditions = [item for key, item in value.items() if key in {"condition", "conditions"}]
        yield from (name for item in conditions for name in named_in(item))
        for item in value.values():
            yield from read_by(item)
    elif isinstance(value, list):
        for item in value:
            yield from read_by(item)


def check_printed(name: str, evaluator: ExpressionEvaluator) -> Checked:
    return check(wrapped(printed(name)), evaluator=evaluator)


def rule(name: str, node: str, evaluator: ExpressionEvaluator) -> NodeRule:
    graph = check_printed(name, evaluator).graph
    assert graph is not None
    return graph.nodes[node]


def leads(node: NodeRule) -> list[tuple[int, str]]:
    return [(transition.tier, transition.to) for transition in node.transitions]


@pytest.mark.parametrize("name", PRINTED)
def test_a_printed_definition_has_no_errors(name: str, evaluator: ExpressionEvaluator) -> None:
    assert check_printed(name, evaluator).errors == ()


@pytest.mark.parametrize("path", sorted((FIXTURES / "conditions").glob("*.json")), ids=lambda path: str(path.stem))
def test_a_printed_condition_is_accepted_in_a_branch(path: Path) -> None:
    fixture = msgspec.json.decode(path.read_bytes())
    evaluator = ExpressionEvaluator(load_blob=lambda reference: str(fixture["blobs"][reference]).encode())
    known = {name for case in fixture["cases"] for name in case["variables"].get("nodes", {})}
    nodes = [{"id": name, "dependents": ["it"]} for name in known | {"start"}]
    branch = {"rules": [{"condition": fixture["condition"], "next_nodes": ["yes"]}], "default": "no"}
    definition = {"nodes": [*nodes, {"id": "it", "branch": branch}, {"id": "yes"}, {"id": "no"}]}
    assert check(definition, evaluator=evaluator).errors == ()


def test_a_task_retries_with_a_fixed_delay_and_forks_to_its_dependents(evaluator: ExpressionEvaluator) -> None:
    node = rule("task", "validate_customer", evaluator)
    assert node.retry == RetryRule(3, "fixed", 1000)
    assert (node.deadline, node.max_hops) == (30_000, 100)
    assert node.config_ref == ConfigRule("sha256:cfg001", "svc.validate/Config@1")
    assert leads(node) == [(1, "kyc_check"), (1, "credit_check")]


def test_a_named_join_waits_for_its_dependencies(evaluator: ExpressionEvaluator) -> None:
    node = rule("named_join", "merge_data", evaluator)
    assert (node.wait_for_all, node.dependencies) == (True, ("fetch_user", "fetch_orders"))


def test_a_loop_goes_back_to_itself_and_breaks_by_transition(evaluator: ExpressionEvaluator) -> None:
    node = rule("loop_until_ok", "call_external_api", evaluator)
    condition = {"type": "cel", "expression": "output.status != 200"}
    assert node.loop == LoopRule(5, "call_external_api", condition, None, ("error_dlq",))
    assert leads(node) == [(1, "process_response")]
    assert node.enclosing_loops == ("call_external_api",)


def test_a_loop_without_paths_is_terminal(evaluator: ExpressionEvaluator) -> None:
    node = rule("loop_until_valid", "loop_until_valid", evaluator)
    assert node.loop is not None
    assert (node.loop.max_iterations, node.loop.back_to, node.terminal) == (3, "loop_until_valid", True)


def test_branch_rules_are_tiers_in_their_order_and_the_default_is_last(evaluator: ExpressionEvaluator) -> None:
    node = rule("branch", "score_customer", evaluator)
    expected = ["enterprise_sales", "send_gift", "standard_sales", "nurture_campaign", "manual_review"]
    assert leads(node) == list(zip((1, 1, 2, 3, 4), expected, strict=True))
    assert [transition.default for transition in node.transitions] == [False, False, False, False, True]
    assert {transition.group for transition in node.transitions} == {None}


def test_an_agent_chooses_among_what_is_allowed(evaluator: ExpressionEvaluator) -> None:
    node = rule("agent_branch", "qualify_lead_agent", evaluator)
    allowed = ("enterprise_sales", "standard_sales", "nurture_campaign", "disqualify")
    assert node.agent == AgentRule(allowed, ("manual_review",))
    assert (node.queue, node.transitions, node.terminal) == ("agent", (), False)
    assert node.config["model"] == "gpt-4"


def test_a_human_node_has_its_approvers_and_its_policy(evaluator: ExpressionEvaluator) -> None:
    node = rule("human", "manager_approval", evaluator)
    assert node.human == HumanRule(
        ("sales-manager@company.com",), 48 * 3_600_000, "approve", ui_url="https://approvals.company.com"
    )


def test_with_loop_and_branch_the_break_path_is_dead(evaluator: ExpressionEvaluator) -> None:
    checked = check_printed("payment_retry", evaluator)
    node = rule("payment_retry", "call_payment_api", evaluator)
    assert "ROUTE_DEAD" in {problem.code for problem in checked.problems}
    assert "confirm_payment" not in {transition.to for transition in node.transitions}
    assert node.loop is not None
    assert node.loop.timeout_path == ("refund_customer",)


def test_a_compensator_is_a_task_of_the_same_type_with_another_action(evaluator: ExpressionEvaluator) -> None:
    node = rule("compensator", "charge_customer", evaluator)
    expected = CompensateRule("task", "default", {"action": "stripe.refund"}, RetryRule(3), 60_000)
    assert node.compensate == expected


def test_a_migration_names_its_versions(evaluator: ExpressionEvaluator) -> None:
    node = rule("migration", "version_handover", evaluator)
    assert (node.behaviour, node.migration) == ("migration", MigrationRule("1.0", "2.0"))


def test_the_printed_patch_gives_a_definition_that_compiles(evaluator: ExpressionEvaluator) -> None:
    definition: dict[str, Any] = {"nodes": [{"id": "process_data"}], "edges": []}
    patch = read_text((FIXTURES / "definitions" / "patch.jsonc").read_text()).data
    for operation in patch["args"]["patch_spec"]["operations"]:
        definition[operation["path"].split("/")[1]].append(operation["value"])
    graph = check(definition, evaluator=evaluator).graph
    assert graph is not None
    assert leads(graph.nodes["process_data"]) == [(1, "send_email")]
    assert graph.entries == ("process_data",)
