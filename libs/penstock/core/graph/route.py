"""Where a token goes when its node has completed: loop first, then transitions by tier.

completed ─▶ loop? ─▶ back          next_nodes of an agent ─▶ those
               │                    tiers: the first with a match fires all its matches
               └─ left ─▶ tiers     first_match: one · all: every match, each in a branch
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from penstock.core.graph.decision import Decision
from penstock.core.graph.fault import NodeFault
from penstock.core.graph.program import NO_VERDICTS, Node, Tier, Way
from penstock.core.graph.state import Scope, Token
from penstock.core.graph.view import variables
from penstock.core.model.evaluate import Program, Verdicts
from penstock.core.model.events import (
    BranchArrived,
    Branches,
    GroupOpened,
    LoopAdvanced,
    LoopLeft,
    RoutingAsked,
    TokenConsumed,
    TokenCreated,
)

Json: TypeAlias = Any


LOOP = 0
"""Where routing begins: at the node's loop. Its transitions' tiers follow."""

QUEUE_PATIENCE = 60_000
"""Milliseconds that conditions may wait for somebody to evaluate them."""


class _Fan(NamedTuple):
    """A transition that opens branches, with as many as it opens."""

    way: Way
    items: list[Json] | None
    size: int


def route(decision: Decision, token: Token, next_nodes: tuple[str, ...] | None) -> None:
    """Take the completed token off its node. Raises `NodeFault` before anything has moved."""
    node = decision.node(token)
    if node.rule.loop is not None and asked_from(token) == LOOP and _loop(decision, token, node, next_nodes):
        return
    if node.rule.agent is not None:
        _move_to(decision, token, next_nodes or node.rule.agent.default, "agent")
        return
    if next_nodes is not None:  # the way of a rejection
        _move_to(decision, token, next_nodes, "rejection")
        return
    matched = matches(decision, token, node, node.ways)
    if matched is None:
        return
    if not matched and node.rule.on_no_match == "error" and not _only_catch(node):
        raise NodeFault("NO_MATCH", f"no transition out of {token.node} matches")
    take(decision, token, matched)


def _only_catch(node: Node) -> bool:
    """All its transitions are for errors: after a success, its way ends here."""
    return all(way.catches for tier in node.ways for way in tier.ways)


def matches(
    decision: Decision, token: Token, node: Node, tiers: tuple[Tier, ...], *, failed: bool = False
) -> list[Way] | None:
    """The transitions that fire, in order. None: user code is asked first, and the token waits for its verdict."""
    first = asked_from(token) if token.question and token.question.failed == failed else LOOP
    for number, tier in enumerate(tiers, start=LOOP + 1):
        if number < first:
            continue
        if tier.programs and number != first:
            ask(decision, token, number, tier.programs, failed=failed)
            return None
        verdicts = (token.question.verdicts if token.question and number == first else None) or NO_VERDICTS
        found = [way for way in tier.ways if _holds(decision, token, node, way, verdicts)]
        if found:
            return found
    return []


def asked_from(token: Token) -> int:
    """The tier at which its routing goes on."""
    return token.question.tier if token.question and token.question.verdicts is not None else LOOP


def ask(
    decision: Decision,
    token: Token,
    tier: int,
    programs: tuple[Program, ...],
    *,
    failed: bool = False,
    next_nodes: tuple[str, ...] | None = None,
) -> None:
    """All user code of one tier at once, on what it sees now."""
    number = token.question.number + 1 if token.question else 1
    # References stay references: whoever runs the code loads what it reads.
    seen = variables(decision.state, token, frozenset({"output", "nodes"}), decision.now)
    decision.emit(RoutingAsked(token.id, number, tier, programs, seen, failed, next_nodes))
    patience = sum(program.timeout_ms for program in programs) + QUEUE_PATIENCE
    decision.set_timer(decision.in_ms(patience), "routing", token=token)


def take(decision: Decision, token: Token, ways: list[Way]) -> None:
    """Move the token along `ways`: into branches, into its group's join, or plainly on."""
    groups: dict[str, list[_Fan]] = {}
    for way in ways:
        if way.rule.group is not None:
            groups.setdefault(way.rule.group, []).append(_fan(decision, token, way))
    for fans in groups.values():
        _check_fan_out(decision, fans)
    joins = None
    forks = len(ways) > 1
    for lane, way in enumerate(ways):
        if way.rule.max_iterations is not None:
            count = decision.scope(token).loops.get(way.rule.id, 0) + 1
            decision.emit(LoopAdvanced(token.scope, way.rule.id, count))
        if way.rule.group is not None:
            continue
        if way.rule.joins is not None and _inside(decision, token, way.rule.joins):
            joins = way
        else:
            back = way.rule.max_iterations is not None
            _create(decision, token, way.rule.to, way.rule.id, back=back, lane=lane if forks else -1)
    for name, fans in groups.items():
        _open(decision, token, name, fans)
    if joins is not None:
        decision.emit(BranchArrived(token.id))
    else:
        decision.emit(TokenConsumed(token.id, ends=not ways))


def _move_to(decision: Decision, token: Token, nodes: tuple[str, ...], via: str, *, back: bool = False) -> None:
    for lane, name in enumerate(nodes):
        _create(decision, token, name, via, back=back, lane=lane if len(nodes) > 1 else -1)
    decision.emit(TokenConsumed(token.id, ends=not nodes))


def _create(decision: Decision, token: Token, node: str, via: str, *, back: bool, lane: int) -> None:
    created = decision.new_token()
    decision.emit(TokenCreated(created, node, token.scope, token.hop + 1, via, token.id, back=back, lane=lane))
    decision.ready.append(created)


def _holds(decision: Decision, token: Token, node: Node, way: Way, verdicts: Verdicts) -> bool:
    limit = way.rule.max_iterations
    if limit is not None and decision.scope(token).loops.get(way.rule.id, 0) + 1 >= limit:
        return False  # this was the last execution that it allows
    if way.when is None:
        return True
    try:
        return decision.test(way.when, token, verdicts)
    except NodeFault:
        if way.catches or node.rule.on_condition_error == "no_match":
            return False
        raise


def _inside(decision: Decision, token: Token, group: str) -> bool:
    """A token outside the group passes its join as if there were none."""
    scope = decision.scope(token)
    return scope.group != 0 and decision.state.groups[scope.group].name == group


def check_choice(node: Node, next_nodes: tuple[str, ...] | None) -> None:
    """An agent may only go where it is allowed to; what it may try again is its node's retry policy."""
    rule = node.rule.agent
    if next_nodes is None:
        return
    allowed = rule.allowed if rule else ()
    for name in next_nodes:
        if name not in allowed:
            raise NodeFault("ROUTE_NOT_ALLOWED", f"{name} is not among the allowed next nodes", retryable=True)
    if rule is not None and len(next_nodes) > rule.max_fanout:
        raise NodeFault("LIMIT_MAX_FANOUT", f"at most {rule.max_fanout} next nodes", limit=rule.max_fanout)


def _loop(decision: Decision, token: Token, node: Node, next_nodes: tuple[str, ...] | None) -> bool:
    """The condition first: a try that succeeds at the limit has succeeded. True if the loop took the token."""
    rule = node.rule.loop
    if rule is None:
        return False
    executions = decision.scope(token).loops.get(token.node, 0) + 1
    verdicts = token.question.verdicts if token.question else None
    if node.again is not None and node.again.programs and verdicts is None:
        ask(decision, token, LOOP, node.again.programs, next_nodes=next_nodes)
        return True
    if node.again is not None and not decision.test(node.again, token, verdicts or NO_VERDICTS):
        decision.emit(LoopLeft(token.scope, token.node))
        return False
    if executions < rule.max_iterations:
        decision.emit(LoopAdvanced(token.scope, token.node, executions))
        _move_to(decision, token, (rule.back_to,), "loop", back=True)
        return True
    if rule.timeout_path is None:
        raise NodeFault("LOOP_LIMIT", f"{token.node} ran {executions} times", limit=rule.max_iterations)
    decision.emit(LoopLeft(token.scope, token.node))
    _move_to(decision, token, rule.timeout_path, "loop timeout")
    return True


def leave_loops(decision: Decision, scope: Scope) -> None:
    """By whatever way a loop was left: once nothing in the scope is in it any more, its count is dropped."""
    if not scope.loops:
        return
    state, nodes = decision.state, decision.program.nodes
    names = {state.tokens[number].node for number in scope.tokens}
    names |= {state.groups[number].origin for number in scope.groups}
    inside = {loop for name in names if name in nodes for loop in nodes[name].loops}  # a patch may remove the opener
    for loop in [loop for loop in scope.loops if loop not in inside]:
        decision.emit(LoopLeft(scope.id, loop))


def _fan(decision: Decision, token: Token, way: Way) -> _Fan:
    if way.items is None:
        return _Fan(way, None, 1 if way.rule.spawn is None else way.rule.spawn)
    items = decision.value(way.items, token, "CONDITION_ERROR")
    if not isinstance(items, list):
        kind = type(items).__name__
        raise NodeFault("FOREACH_NOT_A_LIST", f"foreach of {way.rule.id} is no list", found=kind)
    return _Fan(way, items, len(items))


def _check_fan_out(decision: Decision, fans: list[_Fan]) -> None:
    total = sum(fan.size for fan in fans)
    limit = decision.program.graph.limits.max_fanout
    if total > limit:
        raise NodeFault("LIMIT_MAX_FANOUT", f"{total} branches; at most {limit}", limit=limit)


def _open(decision: Decision, token: Token, name: str, fans: list[_Fan]) -> None:
    state = decision.state
    total = sum(fan.size for fan in fans)
    listed = any(fan.items is not None for fan in fans)
    foreach = next((fan.way.rule.foreach for fan in fans if fan.way.rule.foreach), None)
    first, group = state.next_token, state.next_group
    decision.emit(
        GroupOpened(
            group=group,
            name=name,
            token=token.id,
            first_scope=state.next_scope,
            first_token=first,
            hop=token.hop + 1,
            branches=tuple(_branches(fan) for fan in fans),
            items=[item for fan in fans for item in (fan.items or [None] * fan.size)] if listed else None,
            max_parallel=foreach.max_parallel if foreach else None,
            join=decision.program.graph.groups.get(name),
        )
    )
    decision.ready.extend(range(first, first + total))
    decision.opened.append(group)


def _branches(fan: _Fan) -> Branches:
    rule = fan.way.rule
    name = rule.foreach.item if rule.foreach else None
    return Branches(rule.id, rule.to, fan.size, fan.items is not None, name or "")
