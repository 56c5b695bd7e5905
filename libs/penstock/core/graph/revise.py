"""A run goes on by another definition, by a patch or a migration: what that does to the tokens that are open.

Work that is out keeps the rule it was begun by. A token that has not begun, or only waits, does so anew where its node
has changed. Where neither can be, the new definition conflicts with what the run is doing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from penstock.core.graph.decision import Decision
from penstock.core.graph.fail import route_again
from penstock.core.graph.program import Node, Program
from penstock.core.graph.state import State, Token
from penstock.core.model.events import Begun, TimerCleared
from penstock.core.model.graph import NodeRule
from penstock.core.model.time import Instant

_OUT: Final = frozenset({"running", "deciding", "child"})
"""Somebody outside works on it."""
_BETWEEN: Final = frozenset({"retrying", "parked"})
_ASKED: Final = _OUT | {"parked"}
"""It, or its dead letter, is known outside by the rule it was begun by."""
_INLINE: Final = frozenset({"pass", "transform", "wait"})
"""Behaviours that begin in the same way after an attempt as before."""

_DEADLINE: Final = "run.run_deadline"


class Conflict(NamedTuple):
    node: str
    reason: str


class Carried(NamedTuple):
    """What the change does to open tokens."""

    begun: tuple[Begun, ...]
    renewed: tuple[int, ...]


def conflicts(state: State, old: Program, new: Program, *, leaving: int = 0) -> tuple[Conflict, ...]:
    """Why the run cannot go on by `new`; `leaving` is a token that finds its own way."""
    tokens = (token for token in state.tokens.values() if token.id != leaving)
    found = [Conflict(token.node, reason) for token in tokens if (reason := _conflict(token, old, new))]
    found += [
        Conflict(group.join.target, f"the open group `{group.name}` is joined there")
        for group in state.groups.values()
        if group.join is not None and not group.settled and group.join.target not in new.nodes
    ]
    return tuple(dict.fromkeys(found))


def _conflict(token: Token, old: Program, new: Program) -> str:
    after = new.nodes.get(token.node)
    if after is None:
        return f"a token is there ({token.status})"
    was, becomes = old.nodes[token.node].rule.behaviour, after.rule.behaviour
    if was != becomes and (token.status in _OUT or (token.status in _BETWEEN and becomes not in _INLINE)):
        return f"a {was} is under way there ({token.status}), and cannot become a {becomes}"
    if token.status == "joining" and after.waits_for and token.origin not in after.waits_for:
        return f"a token from `{token.origin}` waits there, and would no longer be joined"
    return ""


def carry_over(state: State, old: Program, new: Program, *, leaving: int = 0) -> Carried:
    changed = {
        name
        for name in {token.node for token in state.tokens.values() if token.id != leaving}
        if old.nodes[name].rule != new.nodes[name].rule or old.nodes[name].loops != new.nodes[name].loops
    }
    kept = {number for begun in state.begun for number in begun.tokens}
    begun: dict[str, list[int]] = {}
    renewed = []
    for number, token in sorted(state.tokens.items()):
        if token.node not in changed or number == leaving:
            continue
        before, after = old.nodes[token.node], new.nodes[token.node]
        if _starts_over(state, token, before, after):
            renewed.append(number)
        elif token.status in _ASKED and number not in kept and _work(before.rule) != _work(after.rule):
            begun.setdefault(token.node, []).append(number)
    rules = {name: _work(old.nodes[name].rule) for name in begun}
    return Carried(tuple(Begun(rules[name], tuple(tokens)) for name, tokens in begun.items()), tuple(renewed))


def _work(rule: NodeRule) -> NodeRule:
    """What the work itself needs of its node's rule: not how it came there, nor where it leads."""
    return msgspec.structs.replace(
        rule,
        input=None,
        output=None,
        input_schema=None,
        transitions=(),
        on_error=(),
        dependencies=(),
        enclosing_loops=(),
        loop=None,
        agent=None,
    )


def _starts_over(state: State, token: Token, before: Node, after: Node) -> bool:
    was, becomes = before.rule, after.rule
    match token.status:
        case "ready":
            return token.id in state.held.get(token.node, ())
        case "joining":
            return before.waits_for != after.waits_for or before.loops != after.loops
        case "waiting":
            return was.wait != becomes.wait or was.behaviour != becomes.behaviour
        case "retrying" | "parked":
            return was.behaviour != becomes.behaviour
        case "routing":
            return _routes(was) != _routes(becomes)
        case _:
            return False


def _routes(rule: NodeRule) -> tuple[object, ...]:
    return rule.transitions, rule.on_error, rule.loop, rule.fan_out


def adopt(decision: Decision, program: Program, renewed: tuple[int, ...]) -> None:
    """Go on by `program`; the event that says so has been emitted."""
    before, decision.program = decision.program.graph.deadline, program
    _move_deadline(decision, before, program.graph.deadline)
    for number in renewed:
        token = decision.state.tokens[number]
        decision.clear_timers(token)
        if token.status == "ready":
            decision.ready.append(number)
        else:
            route_again(decision, token, failed=token.fault is not None)


def _move_deadline(decision: Decision, before: int | None, after: int | None) -> None:
    """It counts from the start, whenever it was set; where there was none, from now."""
    timer = decision.state.timers.get(_DEADLINE)
    if before == after:
        return
    if timer is not None:
        decision.emit(TimerCleared(_DEADLINE))
    if after is not None:
        due = decision.in_ms(after)
        if timer is not None:  # a parent's, if it was not the run's own
            due = min(due, timer.due) if before is None else Instant(timer.due + (after - before) * 1000)
        decision.set_timer(due, "run_deadline")


def reachable(program: Program, starts: set[str]) -> set[str]:
    """Every node that a token on one of `starts` may still come to."""
    found, left = set(starts), list(starts)
    while left:
        new = [name for name in _following(program.nodes[left.pop()].rule) if name not in found]
        found.update(new)
        left += new
    return found


def _following(rule: NodeRule) -> Iterator[str]:
    yield from (way.to for way in (*rule.transitions, *rule.on_error))
    if rule.loop is not None:
        yield from (rule.loop.back_to, *(rule.loop.timeout_path or ()))
    if rule.human is not None:
        yield from rule.human.rejection_path or ()
    if rule.agent is not None:
        yield from (*rule.agent.allowed, *rule.agent.default)
