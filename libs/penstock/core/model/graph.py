"""The compiled form of a graph definition: what the decider reads.

Both spellings of a definition compile to this one form. It holds no functions: expressions stay as their source
and are compiled by whoever loads the graph. Durations are milliseconds. Names end in `Rule` because each of
these says how something is done, and nothing of what has been done.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

Json: TypeAlias = Any

Behaviour: TypeAlias = Literal["task", "pass", "transform", "human", "workflow", "wait", "migration"]
"""What happens on a visit. `task` goes to a queue; `pass` and `transform` complete inside the decision."""


class Rule(msgspec.Struct, frozen=True, omit_defaults=True):
    pass


class RetryRule(Rule, frozen=True):
    """Attempts count executions; the delay before attempt k+1 follows from k."""

    max_attempts: int = 1
    backoff: Literal["fixed", "linear", "exponential"] = "fixed"
    delay: int = 0
    multiplier: float = 2.0
    max_delay: int | None = None
    jitter: float = 0.0


class MergeRule(Rule, frozen=True):
    """How a join's branches become one value, and where it goes."""

    strategy: Literal["append", "concat", "merge_object", "keyed_by_branch", "last_wins"] = "append"
    target: str | None = None
    """Dotted path in the scope that opened the group; None: the value is only the next payload."""
    source: Json = None
    """An expression over the branch (`_branch`, `output`); None: the branch's output."""
    key: Json = None
    """For `keyed_by_branch`: an expression over the branch; None: its index."""


class JoinRule(Rule, frozen=True):
    """How the branches of a group come together. `needed` 0 means all of them."""

    target: str
    needed: int = 0
    on_sibling_failure: Literal["fail", "settle"] = "fail"
    on_early_complete: Literal["cancel", "abandon"] = "cancel"
    timeout: int | None = None
    on_timeout: Literal["fail", "proceed_with_available"] = "fail"
    on_empty: Literal["complete", "fail"] = "complete"
    merge: MergeRule = MergeRule()


class ForeachRule(Rule, frozen=True):
    items: Json
    """An expression that gives a list."""
    item: str | None = None
    """A name for the item beside `_branch.item`."""
    max_parallel: int | None = None


class TransitionRule(Rule, frozen=True):
    """An edge. Those of a node stand in the order in which they are tried."""

    id: str
    to: str
    when: Json = None
    tier: int = 1
    default: bool = False
    group: str | None = None
    """The group it opens, if it opens one."""
    foreach: ForeachRule | None = None
    spawn: int | None = None
    joins: str | None = None
    """The group it synchronizes, if any."""
    max_iterations: int | None = None
    """On a back-edge: executions of the node it leads back from, per scope; at the limit it does not match."""


class LoopRule(Rule, frozen=True):
    max_iterations: int
    back_to: str
    condition: Json = None
    break_path: tuple[str, ...] | None = None
    timeout_path: tuple[str, ...] | None = None


class AgentRule(Rule, frozen=True):
    """The result names the next nodes, out of these."""

    allowed: tuple[str, ...]
    default: tuple[str, ...] = ()
    max_fanout: int = 10


class ConfigRule(Rule, frozen=True):
    """A registered configuration: resolved when a task is made, under what the node's own `config` says."""

    ref: str
    type_url: str | None = None


class CompensateRule(Rule, frozen=True):
    type: str
    queue: str
    config: Json = None
    retry: RetryRule = RetryRule()
    timeout: int | None = None
    on: tuple[Literal["failure", "cancel", "manual"], ...] = ("failure", "cancel")
    on_unknown: Literal["skip", "run"] = "skip"
    config_ref: ConfigRule | None = None


class HumanRule(Rule, frozen=True):
    approvers: tuple[str, ...] = ()
    timeout: int | None = None
    on_timeout: Literal["fail", "approve", "reject", "escalate"] = "fail"
    rejection_path: tuple[str, ...] | None = None
    """None: a rejection fails the node."""
    form: Json = None
    ui_url: str | None = None
    escalate_to: tuple[str, ...] = ()


class ChildRule(Rule, frozen=True):
    workflow: str
    version: str | None = None
    on_failure: Literal["propagate", "catch"] = "propagate"
    inherit_artifacts: bool = False
    timeout: int | None = None


class WaitRule(Rule, frozen=True):
    """A timer or a signal, or a signal with a time limit."""

    duration: int | None = None
    until: Json = None
    """An expression that gives a time (RFC 3339 text or seconds since the epoch)."""
    signal: str | None = None
    match: Json = None
    timeout: int | None = None
    on_timeout: Literal["fail", "continue"] = "fail"


class MigrationRule(Rule, frozen=True):
    from_version: str
    to_version: str
    resume_at: str | None = None


class NodeRule(Rule, frozen=True):
    id: str
    type: str
    behaviour: Behaviour
    queue: str = "default"
    config: Json = None
    input: Json = None
    output: Json = None
    input_schema: Json = None
    output_schema: Json = None
    transitions: tuple[TransitionRule, ...] = ()
    """On success, by tier and declaration, the default ones last."""
    on_error: tuple[TransitionRule, ...] = ()
    """After the last attempt failed: those with `on: error`, and those whose condition reads `_last_error`."""
    fan_out: Literal["tiers", "first_match", "all"] = "tiers"
    on_no_match: Literal["error", "end"] = "error"
    on_condition_error: Literal["fail", "no_match"] = "fail"
    dependencies: tuple[str, ...] = ()
    wait_for_all: bool = False
    on_unreachable: Literal["fail", "proceed"] = "fail"
    enclosing_loops: tuple[str, ...] = ()
    """Looping nodes whose body this node is in: a named join is a new instance on each of their iterations."""
    loop: LoopRule | None = None
    agent: AgentRule | None = None
    retry: RetryRule = RetryRule()
    timeout: int | None = None
    queue_timeout: int | None = None
    deadline: int | None = None
    """Over all attempts."""
    max_hops: int | None = None
    parallelism: int | None = None
    on_exhausted: Literal["fail", "park"] = "fail"
    claim: bool = False
    memoize: bool = False
    compensate: CompensateRule | None = None
    human: HumanRule | None = None
    child: ChildRule | None = None
    wait: WaitRule | None = None
    migration: MigrationRule | None = None
    config_ref: ConfigRule | None = None

    @property
    def terminal(self) -> bool:
        """Nothing leads on from here."""
        loop = self.loop
        paths = (loop.break_path, loop.timeout_path) if loop else ()
        return not self.transitions and not self.agent and not any(paths)


class LimitsRule(Rule, frozen=True):
    max_hops: int = 10_000
    max_fanout: int = 10_000
    max_tokens: int = 100_000
    max_state_bytes: int = 1024 * 1024
    max_bytes: int | None = None
    max_depth: int = 16
    inline_hops: int = 200
    """Hops of one decision; then the run goes on by a command to itself."""


class GraphRule(Rule, frozen=True):
    """A whole definition."""

    name: str
    entries: tuple[str, ...]
    nodes: dict[str, NodeRule]
    groups: dict[str, JoinRule | None]
    """Every group that can be opened, with its join if it has one."""
    version: str = ""
    input_schema: Json = None
    state_schema: Json = None
    output_schema: Json = None
    output: Json = None
    state: Json = None
    """What `state` is at the start."""
    limits: LimitsRule = LimitsRule()
    deadline: int | None = None
    standalone: bool = True
    search_attributes: dict[str, str] = {}
    artifacts: dict[str, Json] = {}
    """Artifact types: name to JSON Schema of the metadata, or null."""
