"""Where ways meet again: branches of a group at its join, and named predecessors at a node that waits for all.

A group is counted by branch. A branch is open while anything in it is; then it has arrived, ended elsewhere,
failed or was cancelled. What these rules see is only the counts, so a join over ten thousand branches costs per
arrival what one over ten does.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import msgspec

from penstock.core.graph.decision import Decision
from penstock.core.graph.evolve import CHILD
from penstock.core.graph.fault import NodeFault
from penstock.core.graph.merge import Contribution, merge
from penstock.core.graph.program import Expression
from penstock.core.graph.reference import load
from penstock.core.graph.state import ROOT, Arrival, Group, Scope, Token
from penstock.core.graph.view import branch_variable
from penstock.core.model.evaluate import Change, apply_changes
from penstock.core.model.events import (
    ApprovalWithdrawn,
    BranchClosed,
    ChildCancelled,
    Fault,
    GroupClosed,
    JoinCompleted,
    JoinFailed,
    JoinMet,
    TaskCancelled,
    TimerCleared,
    TokenAbandoned,
    TokenCancelled,
    TokenWaiting,
)
from penstock.core.model.graph import CompensateRule, JoinRule, MergeRule

Json: TypeAlias = Any

_encode = msgspec.msgpack.Encoder().encode

UNDO_CHILD = CompensateRule(CHILD, "", on=("failure", "cancel", "manual"))
"""A child that completed is one unit: without a compensation of its node's own, it undoes itself."""


# -- group joins


def open_group(decision: Decision, group: Group) -> None:
    """What follows at once from its opening: its time limit, and its end if it has no branches."""
    if group.join is not None and group.join.timeout is not None:
        decision.set_timer(decision.in_ms(group.join.timeout), "join", group=group.id)
    if group.total == 0 or (group.join is not None and group.join.needed > group.total):
        _weigh(decision, group)


def close_branch(decision: Decision, scope: Scope, fault: Fault | None = None, *, cancelled: bool = False) -> None:
    """Nothing is open in the branch any more, or it failed."""
    group = decision.state.groups[scope.group]
    if cancelled or ((group.settled or doomed(decision, group.scope)) and fault is None):
        decision.emit(BranchClosed(scope.id, "cancelled"))
    elif fault is not None:
        decision.emit(BranchClosed(scope.id, "failed", fault=fault))
    elif scope.arrivals:
        decision.emit(BranchClosed(scope.id, "arrived", output=_output(decision, scope, scope.arrivals)))
    else:
        decision.emit(BranchClosed(scope.id, "ended", output=_output(decision, scope, scope.ends)))
    waiting = group.first_token + group.total - group.open + (group.max_parallel or 0) - 1
    if group.max_parallel is not None and waiting < group.first_token + group.total:
        decision.ready.append(waiting)
    _weigh(decision, group)


def _output(decision: Decision, scope: Scope, arrivals: list[Arrival]) -> Json:
    """What a mapping wrote, else what came to the branch's end."""
    if scope.weight:
        return scope.data
    return by_node(arrivals, decision.program.order) if arrivals else None


def by_node(arrivals: list[Arrival], order: dict[str, int]) -> Json:
    """One payload as it is; several by node as declared, a list where a node has several."""
    if len(arrivals) == 1:
        return arrivals[0].payload
    gathered: dict[str, list[Json]] = {}
    for arrival in sorted(arrivals, key=lambda arrival: (order.get(arrival.node, len(order)), arrival.lane)):
        gathered.setdefault(arrival.node, []).append(arrival.payload)
    return {node: values[0] if len(values) == 1 else values for node, values in gathered.items()}


def _weigh(decision: Decision, group: Group) -> None:
    """Does the join fire, fail, or wait?"""
    join = group.join
    if join is not None and not group.settled and not doomed(decision, group.scope):
        arrived = len(group.outputs)
        if join.needed == 0:
            _weigh_all(decision, group, join)
        elif arrived >= join.needed:
            fire(decision, group, join)
        elif arrived + group.open < join.needed and not (group.total == 0 and join.on_empty == "complete"):
            fail_join(decision, group, join, _unreachable(group, join))
        elif group.total == 0:
            fire(decision, group, join)
    elif join is None and group.faults and group.scope not in decision.failing:
        decision.broken.append((group.scope, next(iter(group.faults.values()))))
    if group.open == 0 and group.id in decision.state.groups:
        _close_group(decision, group)


def _weigh_all(decision: Decision, group: Group, join: JoinRule) -> None:
    if group.faults and join.on_sibling_failure == "fail":
        fail_join(decision, group, join, next(iter(group.faults.values())))
    elif group.open == 0 and group.total == 0:
        if join.on_empty == "complete":
            fire(decision, group, join)
        else:
            fail_join(decision, group, join, _unreachable(group, join))
    elif group.open == 0 and (group.outputs or group.faults):
        fire(decision, group, join)


def fire(decision: Decision, group: Group, join: JoinRule) -> None:
    target = join.merge.target
    try:
        merged = merge(join.merge, _contributions(decision, group, join.merge))
        changes = (Change("set", tuple(target.split(".")), merged),) if target else ()
        check_writes(decision, decision.state.scopes[group.scope], changes)
    except NodeFault as problem:
        fail_join(decision, group, join, Fault(problem.code, problem.message, join.target, details=problem.details))
        return
    _stop_waiting(decision, group)
    token = decision.new_token()
    origin = decision.program.nodes[join.target].joined.get(group.name, "")
    decision.emit(JoinCompleted(group.id, token, join.target, merged, changes, origin))
    decision.ready.append(token)
    _leave(decision, group, join)


def fail_join(decision: Decision, group: Group, join: JoinRule, fault: Fault) -> None:
    """The target fails without running, in the scope that opened the group."""
    _stop_waiting(decision, group)
    token = decision.new_token()
    decision.emit(JoinFailed(group.id, token, join.target, fault))
    decision.failed.append((token, fault))
    _cancel_rest(decision, group, "its group's join failed")


def _contributions(decision: Decision, group: Group, rule: MergeRule) -> list[Contribution]:
    compiled = decision.program.merge(group.name, rule)
    values = []
    for index, output in sorted(group.outputs.items()):
        key, value = str(index), output
        if compiled.source is not None or compiled.key is not None:
            seen = {"output": output, "_branch": _branch(decision, group, index, output)}
            if compiled.source is not None:
                value = _evaluated(decision, compiled.source, seen)
            if compiled.key is not None:
                key = str(_evaluated(decision, compiled.key, seen))
        values.append(Contribution(index, key, value))
    return values if group.join is None else _loaded(decision, group.join, values)


def _loaded(decision: Decision, join: JoinRule, values: list[Contribution]) -> list[Contribution]:
    """Strategies that look into the values need those that references stand for."""
    if not decision.state.blobs or join.merge.strategy not in {"concat", "merge_object"}:
        return values
    whole = load({"values": [branch.value for branch in values]}, [("values",)], decision.facts.blobs, whole=True)
    return [branch._replace(value=value) for branch, value in zip(values, whole["values"], strict=True)]


def _branch(decision: Decision, group: Group, index: int, output: Json) -> Json:
    return branch_variable(decision.state, Scope(0, group.id, index, data=output))


def _evaluated(decision: Decision, expression: Expression, seen: dict[str, Json]) -> Json:
    return decision.unwrap(expression.evaluate(decision.loaded(expression, seen)), "CONDITION_ERROR")


def _unreachable(group: Group, join: JoinRule) -> Fault:
    reason = f"{len(group.outputs)} of {group.total} branches arrived; {join.needed or group.total} are needed"
    return Fault("JOIN_UNREACHABLE", reason, join.target, details={"group": group.name})


def _leave(decision: Decision, group: Group, join: JoinRule) -> None:
    """The group goes on without those still open."""
    if group.open and join.on_early_complete == "cancel":
        _cancel_rest(decision, group, "its group's join completed")
    elif group.open:
        for token in _tokens_of(decision, group):
            if token.status in {"running", "child"}:
                decision.emit(TokenAbandoned(token.id))
            else:
                cancel_token(decision, token, "abandoned")


def _cancel_rest(decision: Decision, group: Group, reason: str) -> None:
    for token in _tokens_of(decision, group):
        cancel_token(decision, token, reason)


def _tokens_of(decision: Decision, group: Group) -> list[Token]:
    """Every open token in the group's branches, inner groups included."""
    return tokens_within(decision, range(group.first_scope, group.first_scope + group.total))


def tokens_within(decision: Decision, scopes: Iterable[int]) -> list[Token]:
    """Every open token in these scopes and in those inside them, the oldest first."""
    state = decision.state
    found: list[int] = []
    left = list(scopes)
    while left:
        scope = state.scopes.get(left.pop())
        if scope is None:
            continue
        found += scope.tokens
        for number in scope.groups:
            inner = state.groups[number]
            left += range(inner.first_scope, inner.first_scope + inner.total)
    return [state.tokens[number] for number in sorted(found)]


def doomed(decision: Decision, scope: int) -> bool:
    """Whatever is decided there comes too late: the run has its outcome, or a group around has moved on."""
    state = decision.state
    if state.outcome is not None:
        return True
    while scope != ROOT:
        if scope in decision.failing:
            return True
        group = state.groups[state.scopes[scope].group]
        if group.settled:
            return True
        scope = group.scope
    return False


def _stop_waiting(decision: Decision, group: Group) -> None:
    timer = f"g{group.id}.join"
    if timer in decision.state.timers:
        decision.emit(TimerCleared(timer))


def _close_group(decision: Decision, group: Group) -> None:
    _stop_waiting(decision, group)
    decision.emit(GroupClosed(group.id))
    decision.touched.append(group.scope)


def check_writes(decision: Decision, scope: Scope, changes: tuple[Change, ...]) -> None:
    """What cannot be written, or would not fit the state's schema, is refused before it is recorded."""
    if not changes:
        return
    written = decision.unwrap(apply_changes(scope.data, changes), "MAPPING_ERROR")
    schema = decision.program.state_schema
    if schema is not None and scope.id == ROOT and not decision.fits(schema, written):
        raise NodeFault("STATE_SCHEMA", "the state would not fit its schema")
    limit = decision.program.graph.limits.max_state_bytes
    if scope.weight + len(_encode(changes)) > limit and len(_encode(written)) > limit:
        raise NodeFault("LIMIT_MAX_STATE_BYTES", f"the state would have more than {limit} bytes", limit=limit)


def cancel_token(decision: Decision, token: Token, reason: str) -> None:
    """It ends here, and so does whatever it waits for."""
    if not (token.abandoned and decision.state.outcome is not None):  # told when the outcome was known
        stop_work(decision, token)
    decision.clear_timers(token)
    scope = token.scope
    decision.emit(TokenCancelled(token.id, reason))
    decision.touched.append(scope)


def stop_work(decision: Decision, token: Token) -> None:
    """Tell whoever works on it. What they did until then may have to be undone."""
    rule = decision.begun(token)
    if token.status == "running":
        decision.emit(TaskCancelled(token.id, token.attempt, rule.queue, rule.compensate))
    elif token.status == "child":
        decision.emit(ChildCancelled(token.handle, token.id, rule.compensate or UNDO_CHILD))
    elif token.status == "deciding":
        decision.emit(ApprovalWithdrawn(token.handle))


# -- named joins


def arrive(decision: Decision, token: Token) -> None:
    """At a node that waits for all of its dependencies. A second arrival from one of them is for the next wave."""
    node = decision.node(token)
    loops = decision.scope(token).loops
    counts = ",".join(f"{name}:{loops.get(name, 0)}" for name in node.loops)
    instance = f"{token.node}@{token.scope}[{counts}]"
    decision.emit(TokenWaiting(token.id, instance))
    if len(decision.state.joins[instance]) == len(node.waits_for):
        decision.ready.append(_meet(decision, token.node, instance))
    else:
        decision.touched.append(token.scope)


def unblock(decision: Decision, scope: Scope) -> None:
    """A named join with nothing else open in its scope can never be met: decided now, not left to a sweeper.

    Of several, one that proceeds goes first, since it may lead to the others; then they go as declared.
    """
    if scope.joining == 0 or scope.joining < scope.open:
        return
    state, program = decision.state, decision.program
    waiting = {state.tokens[number].instance: state.tokens[number].node for number in scope.tokens}
    rules = {name: program.nodes[name].rule for name in waiting.values()}
    instance, name = min(
        waiting.items(), key=lambda item: (rules[item[1]].on_unreachable == "fail", program.order[item[1]], item[0])
    )
    missing = [other for other in rules[name].dependencies if other not in state.joins[instance]]
    token = _meet(decision, name, instance)
    if rules[name].on_unreachable == "proceed":
        decision.ready.append(token)
    else:
        reason = f"{name} waits in vain for {', '.join(missing)}"
        decision.failed.append((token, Fault("JOIN_UNREACHABLE", reason, name, details={"missing": missing})))


def _meet(decision: Decision, node: str, instance: str) -> int:
    """One token of those that wait, the first from each dependency, in declared order."""
    waiting = decision.state.joins[instance]
    dependencies = decision.program.nodes[node].rule.dependencies
    token = decision.new_token()
    arrivals = tuple(waiting[name][0] for name in dependencies if name in waiting)
    decision.emit(JoinMet(token, node, instance, arrivals))
    return token
