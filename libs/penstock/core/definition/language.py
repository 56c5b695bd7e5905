"""The definition language: what may be written in a workflow, in one shape for both spellings.

The reference, the JSON Schema for editors and the reader are all made from these structs. `spellings` are other
names of a field, as the seeds print them; a duration may also carry its unit in its name (`timeout_sec: 60`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

from msgspec import Meta, Struct, field

Json: TypeAlias = Any

TEN_YEARS: Final = 315_360_000

DurationText: TypeAlias = Annotated[str, Meta(pattern=r"^\d{1,9}(\.\d{1,3})? ?(ms|s|m|h|d)$")]
Duration: TypeAlias = DurationText | Annotated[float, Meta(ge=0, le=TEN_YEARS)]
"""`500ms`, `30s`, `5m`, `48h`, `7d`, or a number of seconds."""

Id: TypeAlias = Annotated[str, Meta(pattern=r"^\w[\w.:/-]{0,127}$")]
Targets: TypeAlias = str | list[str]
Condition: TypeAlias = str | dict[str, Json]
"""CEL, or an object that says its `type`."""
Schema: TypeAlias = dict[str, Json] | bool
Count: TypeAlias = Annotated[int, Meta(ge=1, le=1_000_000_000)]
Attempts: TypeAlias = Annotated[int, Meta(ge=1, le=10_000)]
Strategy: TypeAlias = Literal["append", "collect", "concat", "merge_object", "keyed_by_branch", "last_wins"]
EarlyComplete: TypeAlias = Literal["cancel", "abandon"]


class Part(Struct, frozen=True, forbid_unknown_fields=True):
    spellings: ClassVar[Mapping[str, str]] = {}


class Retry(Part, frozen=True):
    """`retry: 3` alone means three attempts."""

    max_attempts: Attempts | None = None
    """Executions, the first included."""
    max_retries: Annotated[int, Meta(ge=0, le=10_000)] | None = None
    """Executions after the first."""
    backoff: Literal["fixed", "linear", "exponential"] | None = None
    """Exponential where a multiplier is given, else fixed."""
    delay: Duration = 0
    multiplier: Annotated[float, Meta(ge=1, le=1000)] | None = None
    max_delay: Duration | None = None
    jitter: Annotated[float, Meta(ge=0, le=1)] = 0.0

    spellings = {"backoff_ms": "delay_ms", "max_backoff_ms": "max_delay_ms", "backoff_multiplier": "multiplier"}


class Merge(Part, frozen=True):
    strategy: Strategy = "append"
    target: str | None = None
    """Where the merged value goes in the scope that opened the group."""
    source: Json = None
    """An expression over the branch; else the branch's output."""
    key: Json = None
    """For `keyed_by_branch`: an expression over the branch; else its index."""


class MofN(Part, frozen=True):
    m_of_n: Count


class Synchronize(Part, frozen=True):
    """How the branches of a group come together."""

    group: str | None = None
    """The group's name; else the innermost open one."""
    joins_transition: str | None = None
    """The transition that opened the group, instead of the group's name."""
    wait_for: Literal["all", "any"] | MofN | None = None
    m_of_n: Count | None = None
    on_sibling_failure: Literal["fail", "settle"] = "fail"
    on_early_complete: EarlyComplete | None = None
    timeout: Duration | None = None
    """From the opening of the group."""
    on_timeout: Literal["fail", "proceed_with_available"] = "fail"
    on_empty: Literal["complete", "fail"] | None = None
    merge: Strategy | Merge | None = None

    spellings = {"sibling_group": "group"}


class Foreach(Part, frozen=True):
    items: Json = field(name="in")
    """An expression that gives a list."""
    item: str | None = None
    """A name for the item beside `_branch.item`."""
    max_parallel: Count | None = None

    spellings = {"items": "in", "collection": "in", "item_var": "item", "as": "item"}


class Transition(Part, frozen=True):
    """An edge of the transition spelling."""

    source: str = field(name="from")
    to: str
    id: Id | None = None
    when: Condition | None = None
    priority: Annotated[int, Meta(ge=0, le=1_000_000)] = 1
    """Tiers: the lowest number with a match fires, all its matches together."""
    default: bool = False
    """Taken when no other matches."""
    on: Literal["success", "error"] = "success"
    foreach: str | list[Json] | Foreach | None = None
    spawn: Annotated[int, Meta(ge=0, le=1_000_000)] | None = None
    """Copies of the token, each in its branch."""
    group: Id | None = None
    """The group it opens."""
    synchronize: Synchronize | None = None
    max_iterations: Count | None = None
    """On a back-edge: executions of the node it leads back from, the first included."""
    enabled: bool = True
    description: str | None = None
    metadata: Json = None

    spellings = {
        "from_node_id": "from",
        "from_node": "from",
        "to_node_id": "to",
        "to_node": "to",
        "condition": "when",
        "spawn_count": "spawn",
        "sibling_group": "group",
        "synchronization": "synchronize",
    }


class BranchRule(Part, frozen=True):
    next_nodes: Targets
    condition: Condition | None = None

    spellings = {"when": "condition"}


class Branch(Part, frozen=True):
    """Where to go next: the first rule that holds, or what an agent chose."""

    enabled: bool = True
    type: Literal["conditional", "agent_driven"] = "conditional"
    rules: list[BranchRule] = []
    default: Targets = []
    available_next_nodes: list[str] = []


class Loop(Part, frozen=True):
    """Run again while the condition holds. It is asked first, the limit second."""

    enabled: bool = True
    condition: Condition | None = None
    max_iterations: Count | None = None
    """Executions of the looping node."""
    loop_back_to: str | None = None
    """This node or an earlier one; else this node."""
    break_path: Targets | None = None
    timeout_path: Targets | None = None
    """Where to go at the limit; else `LOOP_LIMIT`."""


class Compensate(Part, frozen=True):
    """What undoes the node if the run fails or is cancelled."""

    action: str | None = None
    """Replaces `config.action` of the node."""
    type: str | None = None
    queue: str | None = None
    config: dict[str, Json] | None = None
    retry: Attempts | Retry = 1
    timeout: Duration | None = None
    on: tuple[Literal["failure", "cancel", "manual"], ...] = ("failure", "cancel")
    on_unknown: Literal["skip", "run"] = "skip"


class Human(Part, frozen=True):
    """An approval."""

    approvers: list[str] = []
    approver: str | None = None
    timeout: Duration | None = None
    on_timeout: Literal["fail", "approve", "reject", "escalate"] | None = None
    escalation_policy: str | None = None
    """`auto_approve…`, `auto_reject…` or `escalate`: the seed's words for `on_timeout`."""
    escalate_to: Targets = []
    rejection_path: Targets | None = None
    """Where a rejection leads; else the node fails."""
    form: Json = None
    ui_url: str | None = None

    spellings = {"approval_ui_url": "ui_url"}


class Child(Part, frozen=True):
    """A run of another program: graph, goal or code."""

    name: str
    version: str | None = None
    on_failure: Literal["propagate", "catch"] = "propagate"
    inherit_artifacts: bool = False
    timeout: Duration | None = None

    spellings = {"workflow": "name", "id": "name", "workflow_def_id": "name"}


class Wait(Part, frozen=True):
    """A timer, a signal, or a signal with a time limit."""

    duration: Duration | None = None
    until: Json = None
    """An expression that gives a time."""
    signal: str | None = None
    match: Condition | None = None
    """Which signals of that name will do."""
    timeout: Duration | None = None
    on_timeout: Literal["fail", "continue"] = "fail"


class ConfigRef(Part, frozen=True):
    """A registered configuration; opaque here."""

    cas_ref: str
    type_url: str | None = None

    spellings = {"ref": "cas_ref"}


class NodeLimits(Part, frozen=True):
    deadline: Duration | None = None
    """Over all attempts."""
    max_hops: Count | None = None
    max_fanout: Count | None = None


class Node(Part, frozen=True):
    """A vertex: what happens on a visit, and in the node spelling also what comes next."""

    id: Id
    type: str = ""
    """`task` unless the node has a block of another type."""
    name: str | None = None
    description: str | None = None
    enabled: bool = True
    """`false`: tokens pass through without work."""
    queue: Id | None = None
    config: dict[str, Json] | None = None
    config_ref: str | ConfigRef | None = None
    agent_config: dict[str, Json] | None = None
    """Merged over `config`."""
    input: Json = None
    output: Json = None
    input_schema: Schema | None = None
    output_schema: Schema | None = None
    dependencies: list[str] = []
    dependents: Targets = []
    wait_for_all: bool | None = None
    """One execution when every dependency has arrived, instead of one per arrival."""
    on_unreachable: Literal["fail", "proceed"] = "fail"
    branch: Branch | None = None
    loop: Loop | None = None
    fan_out: Literal["all", "first_match"] | None = None
    fan_in: Literal["all", "any"] | Synchronize | None = None
    """Joins the innermost group on every way in."""
    merge: Strategy | Merge | None = None
    """Of `fan_in`."""
    on_early_complete: EarlyComplete | None = None
    """Of `fan_in`."""
    on_no_match: Literal["error", "end"] = "error"
    on_condition_error: Literal["fail", "no_match"] = "fail"
    retry: Attempts | Retry | None = None
    timeout: Duration | None = None
    """Per attempt."""
    queue_timeout: Duration | None = None
    limits: NodeLimits = NodeLimits()
    parallelism: Count | None = None
    on_exhausted: Literal["fail", "park"] = "fail"
    claim: bool = False
    memoize: bool = False
    compensate: Compensate | None = None
    human: Human | None = None
    rejection_path: Targets | None = None
    workflow: str | Child | None = None
    on_failure: Literal["propagate", "catch"] | None = None
    inherit_artifacts: bool = False
    wait: Duration | Wait | None = None
    resume_at: str | None = None
    """Of a `migration`: where to go on in the new version, if not at the same node."""
    metadata: Json = None

    spellings = {
        "node_id": "id",
        "input_mapping": "input",
        "output_mapping": "output",
        "compensator": "compensate",
        "human_config": "human",
        "workflow_def_id": "workflow",
        "retry_policy": "retry",
    }


class Limits(Part, frozen=True):
    """Crossing one fails the run with an error that names it."""

    max_hops: Count = 10_000
    max_fanout: Count = 10_000
    max_tokens: Count = 100_000
    max_state_bytes: Count = 1024 * 1024
    max_bytes: Count | None = None
    max_depth: Annotated[int, Meta(ge=1, le=100)] = 16
    deadline: Duration | None = None

    spellings = {"max_wall_time": "deadline"}


class Definition(Part, frozen=True):
    """A workflow."""

    nodes: list[Node] | dict[str, Json]
    """A list, or an object by id."""
    name: str = ""
    version: str = ""
    description: str | None = None
    transitions: list[Transition] = []
    entry: Targets | None = None
    """Where runs start; else every node that nothing but a loop-back leads to."""
    input_schema: Schema | None = None
    state_schema: Schema | None = None
    output_schema: Schema | None = None
    output: Json = None
    state: dict[str, Json] | None = None
    """What `state` is at the start."""
    limits: Limits = Limits()
    deadline: Duration | None = None
    standalone: bool = True
    """`false`: only as a child."""
    infinite: bool = False
    """It may have no terminal node, and cycles without a limit."""
    strict_types: bool = False
    """A task whose queue nobody named is an error."""
    search_attributes: dict[str, Literal["text", "keyword", "int", "float", "bool", "time"]] = {}
    artifacts: dict[str, Schema | None] = {}
    """Artifact types: name to JSON Schema of the metadata, or null."""
    metadata: Json = None

    spellings = {
        "edges": "transitions",
        "initial_node_id": "entry",
        "output_mapping": "output",
        "context_schema": "state_schema",
        "workflow_id": "name",
        "id": "name",
        "artifact_types": "artifacts",
    }
