"""The token counter (seed 002): what each event adds to it and takes from it, under keys that count once.

The run keeps the counter as two sums in its state. This is the same told again from the events, operation by
operation, so that one can be checked against the other, and a counter kept elsewhere can be brought up to date by
applying every operation at least once.

    consume:<token>           -1  it left its node, was cancelled, or asked for an approval
    consume:join_<token>      -n  the join of a group fired or failed, and consumed what had arrived
    consume:group_<group>     -n  what had arrived when the group closed without
    emit:start                +n  entries
    emit:<token>              +n  what it led to: tokens, branches, or its arrival at its group's join
    emit:approval_<approval>  +n  what a decision led to
    emit:join_<token>         +1  the token that a join became
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import msgspec

from penstock.core.graph.evolve import evolve
from penstock.core.graph.state import State
from penstock.core.model import events as e
from penstock.core.model.time import Instant


class Operation(NamedTuple):
    key: str
    delta: int


class Counter(msgspec.Struct):
    """A sum of operations, each counted once however often it is applied."""

    value: int = 0
    applied: set[str] = set()

    def apply(self, operation: Operation) -> bool:
        """False if it was applied before."""
        if operation.key in self.applied:
            return False
        self.applied.add(operation.key)
        self.value += operation.delta
        return True


def operations(state: State, events: Iterable[e.Event], at: Instant) -> list[Operation]:
    """Of one commit, each key once. `state` is as it was before the commit, and moves along with it."""
    found: dict[str, int] = {}
    for event in events:
        count = _COUNTED.get(type(event))
        for key, delta in count(state, event) if count else ():
            found[key] = found.get(key, 0) + delta
        evolve(state, event, at)
    return [Operation(key, delta) for key, delta in found.items() if delta]


def standing(state: State) -> int:
    """What the counter must be: open tokens, but for those that asked for an approval, and arrivals at joins."""
    return sum(not token.asked for token in state.tokens.values()) + sum(g.waiting for g in state.groups.values())


def _emit(state: State, token: int, count: int) -> Operation:
    if token == 0:
        return Operation("emit:start", count)
    asked = state.tokens[token].asked
    return Operation(f"emit:approval_{asked}" if asked else f"emit:{token}", count)


def _consume(state: State, token: int) -> list[Operation]:
    return [] if state.tokens[token].asked else [Operation(f"consume:{token}", -1)]


def _created(state: State, event: e.TokenCreated) -> list[Operation]:
    return [_emit(state, event.parent, 1)]


def _opened(state: State, event: e.GroupOpened) -> list[Operation]:
    return [_emit(state, event.token, sum(branches.count for branches in event.branches))]


def _left(state: State, event: e.TokenConsumed | e.TokenCancelled | e.ApprovalRequested) -> list[Operation]:
    return _consume(state, event.token)


def _arrived(state: State, event: e.BranchArrived) -> list[Operation]:
    return [*_consume(state, event.token), _emit(state, event.token, 1)]


def _joined(state: State, event: e.JoinCompleted | e.JoinFailed) -> list[Operation]:
    arrived = Operation(f"consume:join_{event.token}", -state.groups[event.group].waiting)
    return [arrived, Operation(f"emit:join_{event.token}", 1)]


def _closed(state: State, event: e.GroupClosed) -> list[Operation]:
    return [Operation(f"consume:group_{event.group}", -state.groups[event.group].waiting)]


def _met(_: State, event: e.JoinMet) -> list[Operation]:
    consumed = [Operation(f"consume:{token}", -1) for token in event.arrivals]
    return [*consumed, Operation(f"emit:join_{event.token}", 1)]


_COUNTED: dict[type[e.Event], Callable[[State, Any], list[Operation]]] = {
    e.TokenCreated: _created,
    e.GroupOpened: _opened,
    e.TokenConsumed: _left,
    e.TokenCancelled: _left,
    e.ApprovalRequested: _left,
    e.BranchArrived: _arrived,
    e.JoinCompleted: _joined,
    e.JoinFailed: _joined,
    e.GroupClosed: _closed,
    e.JoinMet: _met,
}
