"""Where ways meet again: branches of a group at its join, and named predecessors at a node that waits for all.

A group is counted by branch. A branch is open while anything in it is; then it has arrived, ended elsewhere,
failed or was cancelled. What these rules see is only the counts, so a join over ten thousand branches costs per
arrival what one over ten does.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from penstock.core.graph.decision import Decision, NodeFault
from penstock.core.graph.merge import merge
from penstock.core.graph.state import ROOT, Group, Scope, Token
from penstock.core.graph.view import branch_variable
from penstock.core.model.evaluate import Change, Failure
from penstock.core.model.events import (
    BranchClosed,
    Fault,
    GroupClosed,
    JoinCompleted,
    JoinFailed,
    JoinMet,
    TimerCleared,
    TokenAbandoned,
    TokenCancelled,
    TokenWaiting,
)
from penstock.core.model.graph import JoinRule

Json: TypeAlias = Any


# -- group joins


def open_group(decision: Decision, group: Group) -> None:
    """What follows at once from its opening: its time limit, and its end if it has no branches."""
    if group.join is not None and group.join.timeout is not None:
        decision.set_timer(decision.in_ms(group.join.timeout), "join", group=group.id)
    if group.total == 0:
        _weigh(decision, group)


def close_branch(decision: Decision, scope: Scope, fault: Fault | None = None, *, cancelled: bool = False) -> None:
    """Nothing is open in the branch any more, or it failed."""
    group = decision.state.groups[scope.group]
    if cancelled or ((group.settled or doomed(decision, group.scope)) and fault is None):
        decision.emit(BranchClosed(scope.id, "cancelled"))
    elif fault is not None:
        decision.emit(BranchClosed(scope.id, "failed", fault=fault))
    elif scope.arrivals:
        decision.emit(BranchClosed(scope.id, "arrived", output=_output(scope, scope.arrivals)))
    else:
        decision.emit(BranchClosed(scope.id, "ended", output=_output(scope, scope.ends)))
    waiting = group.first_token + group.total - group.open + (group.max_parallel or 0) - 1
    if group.max_parallel is not None and waiting < group.first_token + group.total:
        decision.ready.append(waiting)
    _weigh(decision, group)


def _output(scope: Scope, arrivals: dict[str, Json]) -> Json:
    """What a mapping wrote, else what arrived: one payload as it is, several by the node they came from."""
    if scope.data:
        return scope.data
    return next(iter(arrivals.values()), None) if len(arrivals) <= 1 else dict(arrivals)


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
    try:
        merged = merge(join.merge, _contributions(decision, group))
    except NodeFault as problem:
        fail_join(decision, group, join, Fault(problem.code, problem.message, join.target, details=problem.details))
        return
    target = join.merge.target
    changes = (Change("set", tuple(target.split(".")), merged),) if target else ()
    token = decision.new_token()
    decision.emit(JoinCompleted(group.id, token, join.target, merged, changes))
    decision.ready.append(token)
    _leave(decision, group, join)


def fail_join(decision: Decision, group: Group, join: JoinRule, fault: Fault) -> None:
    """The target fails without running, in the scope that opened the group."""
    token = decision.new_token()
    decision.emit(JoinFailed(group.id, token, join.target, fault))
    decision.failed.append((token, fault))
    _cancel_rest(decision, group, "its group's join failed")


def _contributions(decision: Decision, group: Group) -> list[tuple[str, Json]]:
    compiled = decision.program.merges[group.name]
    values = []
    for index, output in sorted(group.outputs.items()):
        key, value = str(index), output
        if compiled.source is not None or compiled.key is not None:
            seen = {"output": output, "_branch": _branch(decision, group, index, output)}
            if compiled.source is not None:
                value = _evaluated(compiled.source.evaluate(seen))
            if compiled.key is not None:
                key = str(_evaluated(compiled.key.evaluate(seen)))
        values.append((key, value))
    return values


def _branch(decision: Decision, group: Group, index: int, output: Json) -> Json:
    return branch_variable(decision.state, Scope(0, group.id, index, data=output))


def _evaluated(found: Json | Failure) -> Json:
    if isinstance(found, Failure):
        raise NodeFault("CONDITION_ERROR", found.message, cause=found.code)
    return found


def _unreachable(group: Group, join: JoinRule) -> Fault:
    reason = f"{len(group.outputs)} of {group.total} branches arrived; {join.needed or group.total} are needed"
    return Fault("JOIN_UNREACHABLE", reason, join.target, details={"group": group.name})


def _leave(decision: Decision, group: Group, join: JoinRule) -> None:
    """The group goes on without those still open."""
    if group.open and join.on_early_complete == "cancel":
        _cancel_rest(decision, group, "its group's join completed")
    elif group.open:
        for token in _tokens_of(decision, group):
            if token.status == "running":
                decision.emit(TokenAbandoned(token.id))
            else:
                cancel_token(decision, token, "abandoned")


def _cancel_rest(decision: Decision, group: Group, reason: str) -> None:
    for token in _tokens_of(decision, group):
        cancel_token(decision, token, reason)


def _tokens_of(decision: Decision, group: Group) -> list[Token]:
    """Every open token in the group's branches, inner groups included."""
    state = decision.state
    return [token for token in state.tokens.values() if _within(decision, token.scope, group.id)]


def _within(decision: Decision, scope: int, group: int) -> bool:
    state = decision.state
    while scope != ROOT and scope in state.scopes:
        number = state.scopes[scope].group
        if number == group:
            return True
        scope = state.groups[number].scope
    return False


def doomed(decision: Decision, scope: int) -> bool:
    """Whatever is decided there comes too late: the run has its outcome, or a group around has moved on."""
    state = decision.state
    if state.outcome is not None:
        return True
    while scope != ROOT:
        group = state.groups[state.scopes[scope].group]
        if group.settled:
            return True
        scope = group.scope
    return False


def _close_group(decision: Decision, group: Group) -> None:
    timer = f"g{group.id}.join"
    if timer in decision.state.timers:
        decision.emit(TimerCleared(timer))
    faults = group.faults if group.join is None else {}
    decision.emit(GroupClosed(group.id))
    if faults and group.scope in decision.state.scopes:
        decision.broken.append((group.scope, next(iter(faults.values()))))
    decision.touched.append(group.scope)


def cancel_token(decision: Decision, token: Token, reason: str) -> None:
    scope = token.scope
    decision.emit(TokenCancelled(token.id, reason))
    decision.touched.append(scope)


# -- named joins


def arrive(decision: Decision, token: Token) -> None:
    """At a node that waits for all of its dependencies."""
    node = decision.node(token).rule
    loops = decision.scope(token).loops
    counts = ",".join(f"{name}:{loops.get(name, 0)}" for name in node.enclosing_loops)
    base = f"{node.id}@{token.scope}[{counts}]"
    wave = 0
    while _heard(decision, f"{base}#{wave}", token.origin):
        wave += 1  # a second arrival from the same predecessor starts the next wave
    instance = f"{base}#{wave}"
    decision.emit(TokenWaiting(token.id, instance))
    waiting = [decision.state.tokens[number] for number in decision.state.joins[instance]]
    if {waiter.origin for waiter in waiting} >= set(node.dependencies):
        meet(decision, node.id, instance)


def meet(decision: Decision, node: str, instance: str) -> None:
    dependencies = {name: position for position, name in enumerate(decision.program.nodes[node].rule.dependencies)}
    state = decision.state
    arrivals = sorted(state.joins[instance], key=lambda number: dependencies.get(state.tokens[number].origin, -1))
    token = decision.new_token()
    decision.emit(JoinMet(token, node, instance, tuple(arrivals)))
    decision.joined.add(token)
    decision.ready.append(token)


def _heard(decision: Decision, instance: str, origin: str) -> bool:
    state = decision.state
    return any(state.tokens[number].origin == origin for number in state.joins.get(instance, ()))
