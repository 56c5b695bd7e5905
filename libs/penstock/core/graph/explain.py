"""Why a run is not further than it is: for every open token and group, what it waits for and since when.

In data for whoever shows it, and in one sentence each for whoever reads it.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from penstock.core.graph.program import Program
from penstock.core.graph.state import ROOT, Group, State, Status, Token, TokenStatus
from penstock.core.graph.waits import (
    AnyWait,
    ForChild,
    ForConditions,
    ForDecision,
    ForNext,
    ForPredecessors,
    ForRescue,
    ForResume,
    ForRetry,
    ForSignal,
    ForTime,
    ForTurn,
    ForWorker,
    after,
    span,
    until,
    when,
)
from penstock.core.model.events import Fault, Outcome, Purpose
from penstock.core.model.graph import NodeRule
from penstock.core.model.time import Instant

SHOWN = 10
"""So many branches are listed; of the others, the number is told."""


class Branch(msgspec.Struct, frozen=True):
    group: str
    index: int


class OpenToken(msgspec.Struct, frozen=True, omit_defaults=True):
    token: int
    node: str
    status: TokenStatus
    since: Instant
    waits: AnyWait
    sentence: str
    branch: tuple[Branch, ...] = ()
    """Where it is, the outermost first."""
    abandoned: bool = False


class OpenGroup(msgspec.Struct, frozen=True, omit_defaults=True):
    group: int
    name: str
    total: int
    open: int
    sentence: str
    branches: tuple[int, ...] = ()
    """Open ones, the first of them."""
    arrived: int = 0
    failed: int = 0
    needed: int = 0
    """By its join; 0 if it has none."""
    target: str = ""
    due: Instant | None = None
    settled: bool = False
    branch: tuple[Branch, ...] = ()
    """The one that opened it."""


class Undoing(msgspec.Struct, frozen=True):
    """Number `position` of `total` that the outcome asks to undo."""

    node: str
    attempt: int
    position: int
    total: int


class Explanation(msgspec.Struct, frozen=True, omit_defaults=True):
    status: Status
    sentence: str
    outcome: Outcome | None = None
    fault: Fault | None = None
    tokens: tuple[OpenToken, ...] = ()
    groups: tuple[OpenGroup, ...] = ()
    undoing: Undoing | None = None
    deadline: Instant | None = None
    grace: Instant | None = None
    """Until then, what was under way at the outcome may report."""


def explain(program: Program, state: State, now: Instant) -> Explanation:
    """Everything that keeps the run open."""
    look = _Look(program, state)
    due = {timer.purpose: timer.due for timer in state.timers.values() if not timer.token and not timer.group}
    deadline, grace = due.get("run_deadline"), due.get("cancel_grace")
    undoing = _undoing(state)
    return Explanation(
        status=state.status,
        sentence=_run(state, undoing, deadline, grace, now),
        outcome=state.outcome,
        fault=state.fault,
        tokens=tuple(_token(look, token, now) for token in state.tokens.values()),
        groups=tuple(_group(look, group, now) for group in state.groups.values()),
        undoing=undoing,
        deadline=deadline,
        grace=grace,
    )


class _Look:
    """The state, with what is asked of it once per token found once."""

    def __init__(self, program: Program, state: State) -> None:
        self.program, self.state = program, state
        self.held = {token: place for line in state.held.values() for place, token in enumerate(line, 1)}
        self.joins = {timer.group: timer.due for timer in state.timers.values() if timer.group}

    def rule(self, token: Token) -> NodeRule:
        return self.program.begun_by(self.state, token)

    def due(self, token: Token, purpose: Purpose) -> Instant | None:
        timers = (self.state.timers[name] for name in token.timers if name in self.state.timers)
        return next((timer.due for timer in timers if timer.purpose == purpose), None)

    def branch(self, scope: int) -> tuple[Branch, ...]:
        found: list[Branch] = []
        while scope != ROOT and scope in self.state.scopes:
            inside = self.state.scopes[scope]
            group = self.state.groups[inside.group]
            found.append(Branch(group.name, inside.branch))
            scope = group.scope
        return tuple(reversed(found))


# -- tokens


def _token(look: _Look, token: Token, now: Instant) -> OpenToken:
    waits = _WAITS[token.status](look, token)
    branch = look.branch(token.scope)
    late = "; nobody waits for it any more: its result is only recorded" if token.abandoned else ""
    since = f", for {span(now - token.since)} so far" if now > token.since else ""
    sentence = f"Token {token.id} on `{token.node}`{_place(branch)} {waits.phrase(now)}{since}{late}."
    return OpenToken(token.id, token.node, token.status, token.since, waits, sentence, branch, token.abandoned)


def _ready(look: _Look, token: Token) -> AnyWait:
    state, rule = look.state, look.rule(token)
    if state.paused:
        return ForResume()
    if token.id in look.held:
        return ForTurn(token.node, rule.parallelism or 0, look.held[token.id])
    scope = state.scopes[token.scope]
    group = state.groups.get(scope.group)
    if group is not None and group.max_parallel is not None and token.id == group.first_token + scope.branch:
        position = scope.branch - group.max_parallel - (group.total - group.open) + 1
        if position > 0:
            return ForTurn(group.name, group.max_parallel, position)
    return ForNext()


def _running(look: _Look, token: Token) -> AnyWait:
    rule = look.rule(token)
    return ForWorker(rule.queue, token.attempt, _attempts(rule, token), look.due(token, "task"))


def _retrying(look: _Look, token: Token) -> AnyWait:
    attempts = _attempts(look.rule(token), token)
    return ForRetry(token.attempt + 1, attempts, look.due(token, "retry"), token.fault)


def _attempts(rule: NodeRule, token: Token) -> int:
    """Somebody may have asked for more than the rule has."""
    return max(rule.retry.max_attempts, token.attempt)


def _joining(look: _Look, token: Token) -> AnyWait:
    names = look.rule(token).dependencies
    here = look.state.joins[token.instance]
    arrived = tuple(name for name in names if name in here)
    return ForPredecessors(arrived, tuple(name for name in names if name not in here))


def _waiting(look: _Look, token: Token) -> AnyWait:
    if token.handle:
        return ForSignal(token.handle, look.due(token, "signal"))
    return ForTime(look.due(token, "wait"))


def _deciding(look: _Look, token: Token) -> AnyWait:
    human = look.rule(token).human
    approvers = human.approvers if human else ()
    if human is not None and token.attempt > 0:  # nobody decided in time, so others were asked
        approvers = human.escalate_to or approvers
    return ForDecision(token.handle, approvers, look.due(token, "approval"))


def _child(look: _Look, token: Token) -> AnyWait:
    child = look.rule(token).child
    return ForChild(token.handle, child.workflow if child else "")


def _parked(_: _Look, token: Token) -> AnyWait:
    return ForRescue(token.fault)


def _routing(_: _Look, token: Token) -> AnyWait:
    return ForConditions(len(token.question.programs) if token.question else 0)


def _done(_: _Look, __: Token) -> AnyWait:
    return ForNext()


_WAITS: dict[TokenStatus, Callable[[_Look, Token], AnyWait]] = {
    "ready": _ready,
    "running": _running,
    "retrying": _retrying,
    "joining": _joining,
    "waiting": _waiting,
    "deciding": _deciding,
    "child": _child,
    "parked": _parked,
    "routing": _routing,
    "done": _done,
}


# -- groups and the run


def _group(look: _Look, group: Group, now: Instant) -> OpenGroup:
    state, join = look.state, group.join
    scopes = range(group.first_scope, group.first_scope + group.total)
    open_ones = tuple(number - group.first_scope for number in scopes if number in state.scopes)
    shown = open_ones[:SHOWN]
    needed = (join.needed or group.total) if join else 0
    due = look.joins.get(group.id)
    branch = look.branch(group.scope)
    more = f" and {len(open_ones) - SHOWN} more" if len(open_ones) > SHOWN else ""
    left = f"{len(open_ones)} of {group.total} branches ({', '.join(map(str, shown))}{more})"
    name = f"`{group.name}`{_place(branch)}"
    if group.settled:
        sentence = f"Group {name} has moved on; {left} finish what they are on."
    elif join is None:
        sentence = f"Group {name} waits for the end of {left}."
    else:
        enough = f"needs {needed}, has {len(group.outputs)}"
        sentence = f"The join of group {name} at `{join.target}` {enough}, and waits for {left}{until(due, now)}."
    return OpenGroup(
        group=group.id,
        name=group.name,
        total=group.total,
        open=len(open_ones),
        sentence=sentence,
        branches=shown,
        arrived=len(group.outputs),
        failed=len(group.faults),
        needed=needed,
        target=join.target if join else "",
        due=due,
        settled=group.settled,
        branch=branch,
    )


def _undoing(state: State) -> Undoing | None:
    if state.phase != "compensating":
        return None
    reason = state.undoing or ("cancel" if state.outcome == "cancelled" else "failure")
    asked = [done for done in reversed(state.undo.values()) if reason in done.rule.on]
    for position, done in enumerate(asked, 1):
        if done.status in {"running", "retrying"}:
            return Undoing(done.node, done.attempt, position, len(asked))
    return None


def _run(state: State, undoing: Undoing | None, deadline: Instant | None, grace: Instant | None, now: Instant) -> str:
    if state.phase == "pending":
        return "The run has not been started."
    because = after(state.fault) if state.outcome in {"failed", "timed_out"} else ""
    known = f", {state.outcome.replace('_', ' ')}{because}" if state.outcome else ""
    said = f"The run is {state.status}{known}"
    if state.phase == "closed":
        return f"{said}."
    if undoing is not None:
        return f"{said}; it undoes `{undoing.node}`, {undoing.position} of {undoing.total}, attempt {undoing.attempt}."
    count = len(state.tokens)
    held = f"; {count} {'token is' if count == 1 else 'tokens are'} open"
    if grace is not None:
        return f"{said}{held} and may report{until(grace, now)}."
    limit = f"; it times out {when(deadline, now)}" if deadline is not None else ""
    return f"{said}{held}{limit}."


def _place(branch: tuple[Branch, ...]) -> str:
    return "".join(f", branch {step.index} of `{step.group}`" for step in reversed(branch)) + ("," if branch else "")
