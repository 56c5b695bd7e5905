"""One node of a definition to its compiled form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

from penstock.core.definition.duration import milliseconds, optional_milliseconds
from penstock.core.definition.language import Child, ConfigRef, Human, Node, Retry, Wait
from penstock.core.definition.problem import Code, Path, Problems
from penstock.core.definition.routes import Edge, targets
from penstock.core.definition.types import BUILT_IN, NodeType
from penstock.core.model.graph import (
    AgentRule,
    ChildRule,
    CompensateRule,
    ConfigRule,
    HumanRule,
    Json,
    LoopRule,
    MigrationRule,
    NodeRule,
    RetryRule,
    TransitionRule,
    WaitRule,
)

DEFAULT_QUEUE: Final = "default"

_FOREVER: Final = 1_000_000_000
"""Iterations of a loop without a limit, which only `infinite: true` allows; `max_hops` comes first."""

_BLOCKS: Final = {"human": "human", "workflow": "workflow", "wait": "wait"}
"""Fields that only one behaviour has, by field."""

_POLICIES: Final[Mapping[str, Literal["fail", "approve", "reject", "escalate"]]] = {
    "auto_approve": "approve",
    "auto_reject": "reject",
    "escalate": "escalate",
    "fail": "fail",
}


def type_of(node: Node) -> str:
    return node.type or next((name for field, name in _BLOCKS.items() if getattr(node, field) is not None), "task")


class NodeCompiler:
    def __init__(self, types: Mapping[str, NodeType], problems: Problems, *, strict_types: bool) -> None:
        self._types = types
        self._problems = problems
        self._strict = strict_types

    def type(self, name: str) -> NodeType:
        return self._types.get(name) or BUILT_IN.get(name) or BUILT_IN["task"]

    def compile(
        self, node: Node, edges: list[Edge], path: Path, dependencies: tuple[str, ...], loops: tuple[str, ...]
    ) -> NodeRule:
        kind = type_of(node)
        registered = self.type(kind)
        self._check_blocks(node, registered.behaviour, path)
        common: dict[str, Any] = {
            "transitions": _transitions(node, (edge for edge in edges if edge.kind == "transition")),
            "on_error": _transitions(node, (edge for edge in edges if edge.kind == "error" or edge.catches)),
            "fan_out": node.fan_out or "tiers",
            "on_no_match": node.on_no_match,
            "on_condition_error": node.on_condition_error,
            "dependencies": dependencies,
            "enclosing_loops": loops,
            "wait_for_all": bool(node.wait_for_all),
            "on_unreachable": node.on_unreachable,
            "agent": _agent(node),
        }
        if not node.enabled:
            return NodeRule(node.id, kind, "pass", **common)
        queue = self._queue(node, kind, registered, path)
        config = {**registered.config, **(node.config or {}), **(node.agent_config or {})} or None
        limits = node.limits
        return NodeRule(
            node.id,
            kind,
            registered.behaviour,
            queue=queue,
            config=config,
            config_ref=_config_ref(node),
            input=node.input,
            output=node.output,
            input_schema=registered.input_schema if node.input_schema is None else node.input_schema,
            output_schema=registered.output_schema if node.output_schema is None else node.output_schema,
            loop=_loop(node),
            retry=registered.retry if node.retry is None else retry_rule(node.retry),
            timeout=registered.timeout if node.timeout is None else milliseconds(node.timeout),
            queue_timeout=optional_milliseconds(node.queue_timeout),
            deadline=optional_milliseconds(limits.deadline),
            max_hops=limits.max_hops,
            parallelism=node.parallelism,
            on_exhausted=node.on_exhausted,
            claim=node.claim,
            memoize=node.memoize,
            compensate=self._compensate(node, kind, queue, config),
            human=self._human(node, path) if registered.behaviour == "human" else None,
            child=self._child(node, path) if registered.behaviour == "workflow" else None,
            wait=self._wait(node, path) if registered.behaviour == "wait" else None,
            migration=self._migration(node, path) if registered.behaviour == "migration" else None,
            **common,
        )

    def _queue(self, node: Node, kind: str, registered: NodeType, path: Path) -> str:
        queue = node.queue or registered.queue
        if queue is None and registered.behaviour == "task":
            message = f"no queue is named for `{node.id}`, nor for its type `{kind}`: it goes to `{DEFAULT_QUEUE}`"
            report = self._problems.error if self._strict else self._problems.warn
            report(Code.QUEUE_DEFAULT, path, message, "give it a `queue`, or register the type")
        return queue or DEFAULT_QUEUE

    def _check_blocks(self, node: Node, behaviour: str, path: Path) -> None:
        for field, name in _BLOCKS.items():
            if getattr(node, field) is not None and behaviour != name:
                message = f"`{field}` has no meaning on a node of type `{type_of(node)}`"
                self._problems.error(Code.MISPLACED, (*path, field), message, f"the type is `{name}`")

    def _compensate(self, node: Node, kind: str, queue: str, config: Json) -> CompensateRule | None:
        written = node.compensate
        if written is None:
            return None
        other = written.type if written.type != kind else None
        settings = written.config if written.config is not None else config
        if written.action is not None:
            settings = {**(settings or {}), "action": written.action}
        return CompensateRule(
            other or kind,
            written.queue or ((self.type(other).queue or DEFAULT_QUEUE) if other else queue),
            settings,
            retry_rule(written.retry),
            optional_milliseconds(written.timeout),
            tuple(dict.fromkeys(written.on)),
            written.on_unknown,
            _config_ref(node) if written.config is None and other is None else None,
        )

    def _human(self, node: Node, path: Path) -> HumanRule:
        human = node.human or Human()
        rejection = node.rejection_path if human.rejection_path is None else human.rejection_path
        policy = human.escalation_policy
        on_timeout = human.on_timeout or "fail"
        if policy is not None:
            found = next((name for start, name in _POLICIES.items() if policy.startswith(start)), None)
            if found is None:
                hint = self._problems.did_you_mean(policy, _POLICIES, f"one of {', '.join(_POLICIES)}")
                where = (*path, "human", "escalation_policy")
                self._problems.error(Code.WRONG_VALUE, where, f"there is no policy `{policy}`", hint)
            on_timeout = found or on_timeout
        return HumanRule(
            (*human.approvers, *targets(human.approver)),
            optional_milliseconds(node.timeout if human.timeout is None else human.timeout),
            on_timeout,
            None if rejection is None else tuple(targets(rejection)),
            human.form,
            human.ui_url,
            tuple(targets(human.escalate_to)),
        )

    def _child(self, node: Node, path: Path) -> ChildRule | None:
        written = node.workflow
        if isinstance(written, str):
            name, _, version = written.partition("@")
            written = Child(name=name, version=version or None)
        if written is None or not written.name:
            self._problems.error(Code.MISSING_FIELD, path, "`workflow` is missing: which one is called?")
            return None
        return ChildRule(
            written.name,
            written.version,
            node.on_failure or written.on_failure,
            node.inherit_artifacts or written.inherit_artifacts,
            optional_milliseconds(written.timeout if node.timeout is None else node.timeout),
        )

    def _wait(self, node: Node, path: Path) -> WaitRule | None:
        written = node.wait
        if written is not None and not isinstance(written, Wait):
            return WaitRule(milliseconds(written))
        given = [] if written is None else [written.duration, written.until, written.signal]
        if written is None or sum(value is not None for value in given) != 1:
            message = "a wait has a `duration`, an `until` or a `signal`, and only one of them"
            self._problems.error(Code.WRONG_VALUE, (*path, "wait"), message)
            return None
        return WaitRule(
            optional_milliseconds(written.duration),
            written.until,
            written.signal,
            written.match,
            optional_milliseconds(node.timeout if written.timeout is None else written.timeout),
            written.on_timeout,
        )

    def _migration(self, node: Node, path: Path) -> MigrationRule | None:
        config = node.config or {}
        versions = [config.get(name) for name in ("from_version", "to_version")]
        if not all(isinstance(version, str) and version for version in versions):
            message = "a migration has `from_version` and `to_version` in its `config`, as text"
            self._problems.error(Code.MISSING_FIELD, (*path, "config"), message)
            return None
        return MigrationRule(str(versions[0]), str(versions[1]), node.resume_at or config.get("resume_at"))


def retry_rule(written: int | Retry) -> RetryRule:
    if not isinstance(written, Retry):
        return RetryRule(written)
    attempts = written.max_attempts or (1 if written.max_retries is None else written.max_retries + 1)
    backoff = written.backoff or ("fixed" if written.multiplier is None else "exponential")
    return RetryRule(
        attempts,
        backoff,
        milliseconds(written.delay),
        2.0 if written.multiplier is None else written.multiplier,
        optional_milliseconds(written.max_delay),
        written.jitter,
    )


def _transitions(node: Node, edges: Iterable[Edge]) -> tuple[TransitionRule, ...]:
    """In the order in which they are tried; where all are, in the order of their branches: as declared."""
    tiers = node.fan_out != "all"
    ordered = sorted(edges, key=lambda edge: (edge.default, edge.tier if tiers else 0))
    last = max((edge.tier for edge in ordered if not edge.default), default=0) + 1
    return tuple(
        TransitionRule(
            edge.id,
            edge.to,
            edge.when,
            last if edge.default else edge.tier,
            edge.default,
            edge.group,
            edge.foreach,
            edge.spawn,
            edge.joins,
            edge.limit,
        )
        for edge in ordered
    )


def _loop(node: Node) -> LoopRule | None:
    """`break_path` is not here: it has become the node's transitions."""
    loop = node.loop
    if loop is None or not loop.enabled:
        return None
    timeout = None if loop.timeout_path is None else tuple(targets(loop.timeout_path))
    return LoopRule(loop.max_iterations or _FOREVER, loop.loop_back_to or node.id, loop.condition, None, timeout)


def _agent(node: Node) -> AgentRule | None:
    branch = node.branch
    if branch is None or not branch.enabled or branch.type != "agent_driven":
        return None
    fanout = node.limits.max_fanout or AgentRule(()).max_fanout
    return AgentRule(tuple(branch.available_next_nodes), tuple(targets(branch.default)), fanout)


def _config_ref(node: Node) -> ConfigRule | None:
    written = node.config_ref
    if written is None:
        return None
    if isinstance(written, ConfigRef):
        return ConfigRule(written.cas_ref, written.type_url)
    return ConfigRule(written)
