"""Reads a definition, plain data in either spelling, into the nodes that the interpreter walks."""

from __future__ import annotations

from penstock.core.model.evaluate import Condition, Evaluator, InputMapping
from penstock.testkit.reference.script import Json
from penstock.testkit.reference.shape import LAST_TIER, Branch, Edge, Join, Loop, Merge, Node, plain_edge


class Reader:
    """Reads plain data into nodes. Trusts it: what does not compile is for `compile_definition` to say."""

    def __init__(self, definition: Json, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        written = definition["nodes"]
        self._nodes: dict[str, Json] = written if isinstance(written, dict) else {node["id"]: node for node in written}
        self._transitions = [edge for edge in definition.get("transitions", []) if edge.get("enabled", True)]

    def nodes(self) -> dict[str, Node]:
        edges: dict[str, list[Edge]] = {name: [] for name in self._nodes}
        for order, written in enumerate(self._transitions):
            edges[written["from"]].append(self._edge(written, order))
        self._add_node_spelling(edges)
        return {name: self._node(name, order, tuple(edges[name])) for order, name in enumerate(self._nodes)}

    def _add_node_spelling(self, edges: dict[str, list[Edge]]) -> None:
        for name, node in self._nodes.items():
            edges[name].extend(self._to(name, node.get("dependents")))
        for name, node in self._nodes.items():
            for source in node.get("dependencies", []):
                if all(edge.to != name for edge in edges[source]) and not self._leads(source, name):
                    edges[source].extend(self._to(source, name))

    def _leads(self, source: str, name: str) -> bool:
        """The branch or loop of the source says already that it leads there."""
        node = self._nodes[source]
        loop, branch = node.get("loop") or {}, node.get("branch") or {}
        said = [
            branch.get("default"),
            branch.get("available_next_nodes"),
            loop.get("break_path"),
            loop.get("timeout_path"),
        ]
        said += [rule["next_nodes"] for rule in branch.get("rules", [])]
        said.append(node.get("rejection_path"))
        return any(name in _names(targets) for targets in said)

    def _edge(self, written: Json, order: int) -> Edge:
        source, to = written["from"], written["to"]
        same = [edge for edge in self._transitions[:order] if (edge["from"], edge["to"]) == (source, to)]
        name = written.get("id") or (f"{source}->{to}#{len(same) + 1}" if same else f"{source}->{to}")
        foreach = written.get("foreach")
        opens = foreach is not None or written.get("spawn") is not None
        all_branches = self._nodes[source].get("fan_out") == "all"
        named = isinstance(foreach, dict)
        return Edge(
            name,
            source,
            to,
            order,
            self._condition(written.get("when")),
            LAST_TIER if written.get("default") else written.get("priority", 1),
            written.get("on") == "error",
            self._value(foreach["in"] if named else foreach),
            foreach.get("item") if named else None,
            written.get("spawn"),
            written.get("group") or (source if all_branches else name if opens else None),
            self._join(written.get("synchronize"), to),
            written.get("max_iterations"),
        )

    def _to(self, source: str, targets: str | list[str] | None) -> tuple[Edge, ...]:
        return tuple(plain_edge(source, to, self._join(None, to)) for to in _names(targets))

    def _join(self, written: Json, target: str) -> Join | None:
        node = self._nodes[target]
        if written is None:
            if node.get("fan_in") is None:
                return None
            fan_in = node["fan_in"]
            written = {"merge": node.get("merge"), **(fan_in if isinstance(fan_in, dict) else {"wait_for": fan_in})}
        group = written.get("group")
        if "joins_transition" in written:
            opener = next(
                n for n, edge in enumerate(self._transitions) if edge.get("id") == written["joins_transition"]
            )
            group = self._edge(self._transitions[opener], opener).group
        wait_for = written.get("wait_for", "all")
        needed = wait_for["m_of_n"] if isinstance(wait_for, dict) else int(wait_for == "any")
        needed = written.get("m_of_n") or needed
        return Join(
            group,
            needed,
            written.get("on_sibling_failure") == "settle",
            written.get("on_empty", "fail" if needed else "complete") == "complete",
            self._merge(written.get("merge") or "append"),
        )

    def _merge(self, written: Json) -> Merge:
        fields = written if isinstance(written, dict) else {"strategy": written}
        strategy = fields.get("strategy", "append")
        return Merge(
            "append" if strategy == "collect" else strategy,
            fields["target"].removeprefix("state.") if fields.get("target") else None,
            self._value(fields.get("source")),
            self._value(fields.get("key")),
        )

    def _node(self, name: str, order: int, edges: tuple[Edge, ...]) -> Node:
        node = self._nodes[name]
        schema, compensate = node.get("output_schema"), node.get("compensate")
        rejection = node.get("rejection_path") or node.get("human", {}).get("rejection_path")
        return Node(
            name,
            order,
            node.get("type") or next((kind for kind in ("human", "wait", "workflow") if kind in node), "task"),
            self._value(node.get("input")),
            self._evaluator.output_mapping(node["output"]) if node.get("output") is not None else None,
            None if schema is None else self._condition({"type": "schema_validation", "schema": schema}),
            _attempts(node.get("retry")),
            edges,
            self._loop(name, node.get("loop")),
            self._branch(name, node.get("branch")),
            self._to(name, rejection) if rejection else None,
            node.get("fan_out"),
            node.get("on_no_match", "error") == "error",
            node.get("on_condition_error", "fail") == "fail",
            bool(node.get("wait_for_all")),
            node.get("on_unreachable") == "proceed",
            tuple(node.get("dependencies", [])),
            compensate is not None and "failure" in compensate.get("on", ["failure"]),
        )

    def _loop(self, name: str, loop: Json) -> Loop | None:
        if not loop or not loop.get("enabled", True):
            return None
        broken, timed_out = loop.get("break_path"), loop.get("timeout_path")
        return Loop(
            self._condition(loop.get("condition")),
            loop.get("max_iterations"),
            (plain_edge(name, loop.get("loop_back_to") or name),),
            None if broken is None else self._to(name, broken),
            None if timed_out is None else self._to(name, timed_out),
        )

    def _branch(self, name: str, branch: Json) -> Branch | None:
        if not branch or not branch.get("enabled", True):
            return None
        rules = (
            (self._condition(rule.get("condition")), self._to(name, rule["next_nodes"]))
            for rule in branch.get("rules", [])
        )
        available = frozenset(branch.get("available_next_nodes", []))
        agent = branch.get("type") == "agent_driven"
        return Branch(agent, tuple(rules), self._to(name, branch.get("default")), available)

    def _condition(self, source: Json) -> Condition | None:
        return None if source is None else self._evaluator.condition(source)

    def _value(self, source: Json) -> InputMapping | None:
        return None if source is None else self._evaluator.input_mapping(source)


def _names(targets: str | list[str] | None) -> list[str]:
    return [targets] if isinstance(targets, str) else list(targets or ())


def _attempts(retry: Json) -> int:
    if isinstance(retry, dict):
        return int(retry.get("max_attempts") or retry.get("max_retries", 0) + 1)
    return int(retry or 1)
