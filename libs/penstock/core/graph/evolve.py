"""How each event changes the state. Everything that changes a run's state lives here.

An event that was recorded is a fact: nothing here refuses, decides or looks at the definition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec
from msgspec import UNSET

from penstock.core.graph.reference import holds_reference
from penstock.core.graph.state import (
    ROOT,
    Arrival,
    Begun,
    Done,
    Flight,
    Group,
    Proposal,
    Question,
    Scope,
    Signal,
    State,
    Timer,
    Token,
)
from penstock.core.model import events as e
from penstock.core.model.evaluate import Change, Failure, apply_changes
from penstock.core.model.time import SECOND, Instant

Json = Any

REMEMBERED = 24 * 3600 * SECOND
"""How long the id of a command that does not fence itself is kept."""

CHILD = "child"
"""The type of a compensation that is a child's own to do."""

_encode = msgspec.msgpack.Encoder().encode


def evolve(state: State, event: e.Event, at: Instant) -> None:
    """Change `state`, in place, by one event that happened at `at`."""
    HANDLERS[type(event)](state, event, at)


def _run_started(state: State, event: e.RunStarted, _: Instant) -> None:
    state.phase = "open"
    state.workflow, state.graph, state.seed = event.workflow, event.graph, event.seed
    state.input, state.parent, state.depth = event.input, event.parent, event.depth
    state.run = event.run
    state.inherited = {artifact.name: artifact for artifact in event.artifacts}
    state.scopes[ROOT] = Scope(ROOT, data=dict(event.state))
    _note(state, event.input)


def _token_created(state: State, event: e.TokenCreated, at: Instant) -> None:
    parent = state.tokens.get(event.parent)
    payload = event.payload
    if payload is UNSET:
        payload = parent.output if parent else None
    token = Token(
        event.token, event.node, event.scope, event.hop, payload, event.via, event.parent, since=at, back=event.back
    )
    if parent is not None:
        token.fault, token.origin = parent.fault, parent.node
        token.lane = parent.lane if event.lane < 0 else (*parent.lane, event.lane)
    elif event.lane >= 0:
        token.lane = (event.lane,)
    _add(state, token)
    state.next_token = max(state.next_token, event.token + 1)
    state.hops += 1


def _token_waiting(state: State, event: e.TokenWaiting, at: Instant) -> None:
    token = state.tokens[event.token]
    token.status, token.instance, token.since = "joining", event.instance, at
    state.scopes[token.scope].joining += 1
    state.joins.setdefault(event.instance, {}).setdefault(token.origin, []).append(token.id)


def _token_held(state: State, event: e.TokenHeld, _: Instant) -> None:
    state.held.setdefault(state.tokens[event.token].node, {})[event.token] = None


def _token_consumed(state: State, event: e.TokenConsumed, _: Instant) -> None:
    token = state.tokens[event.token]
    if event.ends:
        state.scopes[token.scope].ends.append(Arrival(token.node, token.output, token.lane))
    _remove(state, event.token)


def _token_cancelled(state: State, event: e.TokenCancelled, _: Instant) -> None:
    _remove(state, event.token)


def _token_abandoned(state: State, event: e.TokenAbandoned, _: Instant) -> None:
    state.tokens[event.token].abandoned = True


def _task_cancelled(state: State, event: e.TaskCancelled, _: Instant) -> None:
    token = state.tokens[event.token]
    if event.compensate is not None and token.id not in state.undo:
        state.flights[token.id] = Flight(token.node, event.attempt, token.given, event.compensate)


def _node_dispatched(state: State, event: e.NodeDispatched, at: Instant) -> None:
    token = state.tokens[event.token]
    _input(token, event.input)
    _occupy(state, token)
    token.status, token.attempt, token.since = "running", event.attempt, at


def _node_completed(state: State, event: e.NodeCompleted, _: Instant) -> None:
    token = state.tokens[event.token]
    _input(token, event.input)
    scope = state.scopes[token.scope]
    _release(state, token)
    token.output, token.fault, token.status = event.output, None, "done"
    state.bytes += event.bytes
    _note(state, event.output)
    if event.applied:
        scope.nodes[token.node] = {"output": event.output, "metadata": event.metadata}
        _write(scope, event.changes)
    if event.compensate is not None:
        child = token.handle if event.compensate.type == CHILD else ""
        _done(state, Done(token.id, token.node, token.given, event.output, event.compensate, child=child))


def _node_recalled(state: State, event: e.NodeRecalled, _: Instant) -> None:
    _input(state.tokens[event.token], event.input)


def _routing_asked(state: State, event: e.RoutingAsked, at: Instant) -> None:
    token = state.tokens[event.token]
    token.status, token.since = "routing", at
    token.question = Question(event.number, event.tier, event.programs, event.seen, event.failed, event.next_nodes)


def _routing_answered(state: State, event: e.RoutingAnswered, _: Instant) -> None:
    token = state.tokens[event.token]
    token.status = "done"
    if token.question is not None:
        token.question.verdicts = event.verdicts


def _artifacts_staged(state: State, event: e.ArtifactsStaged, _: Instant) -> None:
    state.artifacts.update({artifact.name: artifact for artifact in event.artifacts})


def _task_failed(state: State, event: e.TaskFailed, _: Instant) -> None:
    token = state.tokens[event.token]
    token.fault = event.fault
    flight = state.flights.get(token.id)
    if flight is not None and flight.attempt == token.attempt:
        del state.flights[token.id]


def _retry_scheduled(state: State, event: e.TaskRetryScheduled, at: Instant) -> None:
    token = state.tokens[event.token]
    token.status, token.since = "retrying", at


def _token_parked(state: State, event: e.TokenParked, at: Instant) -> None:
    token = state.tokens[event.token]
    _release(state, token)
    token.status, token.fault, token.since = "parked", event.fault, at


def _token_unparked(state: State, event: e.TokenUnparked, at: Instant) -> None:
    token = state.tokens[event.token]
    token.status, token.since = "ready", at
    state.running[token.node] = state.running.get(token.node, 0) + 1


def _node_failed(state: State, event: e.NodeFailed, _: Instant) -> None:
    token = state.tokens[event.token]
    _release(state, token)
    if token.status == "child":
        state.children.pop(token.handle, None)
    token.fault, token.status, token.output = event.fault, "done", None


def _result_recorded(state: State, event: e.ResultRecorded, _: Instant) -> None:
    if event.compensate is not None:
        token = state.tokens[event.token]
        _done(state, Done(token.id, token.node, token.given, event.output, event.compensate))
        return
    flight = state.flights.pop(event.token)
    if event.fault is None:
        _done(state, _landed(event.token, flight, event.output))


def _ignored(_: State, __: e.Event, ___: Instant) -> None:
    """Recorded, and that is all."""


def _group_opened(state: State, event: e.GroupOpened, at: Instant) -> None:
    opener = state.tokens[event.token]
    total = sum(branches.count for branches in event.branches)
    group = Group(
        event.group,
        event.name,
        opener.scope,
        opener.node,
        opener.id,
        event.hop - 1,
        total,
        event.first_scope,
        event.first_token,
        items=event.items,
        parts=[(branches.count, branches.item) for branches in event.branches],
        lane=opener.lane,
        join=event.join,
        max_parallel=event.max_parallel,
        open=total,
    )
    state.groups[group.id] = group
    state.scopes[group.scope].groups.add(group.id)
    index = 0
    for branches in event.branches:
        for _ in range(branches.count):
            scope = Scope(event.first_scope + index, group.id, index)
            state.scopes[scope.id] = scope
            payload = event.items[index] if branches.listed and event.items is not None else opener.output
            token = Token(
                event.first_token + index, branches.to, scope.id, event.hop, payload, branches.via, opener.id, since=at
            )
            token.fault, token.origin = opener.fault, opener.node
            _add(state, token)
            index += 1
    state.next_token = max(state.next_token, event.first_token + total)
    state.next_scope = max(state.next_scope, event.first_scope + total)
    state.next_group = max(state.next_group, event.group + 1)
    state.hops += total


def _branch_arrived(state: State, event: e.BranchArrived, _: Instant) -> None:
    token = state.tokens[event.token]
    scope = state.scopes[token.scope]
    scope.arrivals.append(Arrival(token.node, token.output, token.lane))
    scope.arrival_hop = max(scope.arrival_hop, token.hop)
    state.groups[scope.group].waiting += 1
    state.emitted += 1
    _remove(state, event.token)


def _branch_closed(state: State, event: e.BranchClosed, _: Instant) -> None:
    scope = state.scopes[event.scope]
    group = state.groups[scope.group]
    if event.status == "arrived":
        group.outputs[scope.branch] = event.output
        group.hop = max(group.hop, scope.arrival_hop)
    elif event.status == "ended" and group.join is None:
        group.outputs[scope.branch] = event.output
    elif event.fault is not None:
        group.faults[scope.branch] = event.fault
    if scope.ends and event.status in {"arrived", "ended"}:
        group.ends[scope.branch] = scope.ends
    group.open -= 1
    del state.scopes[event.scope]


def _join_completed(state: State, event: e.JoinCompleted, at: Instant) -> None:
    group = state.groups[event.group]
    scope = state.scopes[group.scope]
    _write(scope, event.changes)
    if group.join is not None and group.join.on_sibling_failure == "settle":
        scope.errors[group.name] = [
            {"index": index, "item": group.items[index] if group.items else None, "error": fault_json(fault)}
            for index, fault in sorted(group.faults.items())
        ]
    token = Token(event.token, event.node, group.scope, group.hop + 1, event.merged, since=at, origin=event.origin)
    _settle(state, group, token)


def _join_failed(state: State, event: e.JoinFailed, at: Instant) -> None:
    group = state.groups[event.group]
    token = Token(event.token, event.node, group.scope, group.hop + 1, None, since=at)
    _settle(state, group, token)


def _settle(state: State, group: Group, token: Token) -> None:
    token.via, token.parent, token.lane = f"join {group.name}", group.token, group.lane
    _settled(state, group)
    _add(state, token)
    state.next_token = max(state.next_token, token.id + 1)
    state.hops += 1


def _settled(state: State, group: Group) -> None:
    """The scope that opened it goes on; what is still open in it holds up nobody."""
    scope = state.scopes[group.scope]
    scope.groups.discard(group.id)
    for branch, ends in sorted(group.ends.items()):
        scope.ends += [Arrival(end.node, end.payload, (*group.lane, branch, *end.lane)) for end in ends]
    group.settled, group.outputs, group.ends = True, {}, {}
    _consume_arrivals(state, group)


def _group_closed(state: State, event: e.GroupClosed, _: Instant) -> None:
    group = state.groups.pop(event.group)
    if group.join is None:
        state.branches[group.name] = [group.outputs.get(index) for index in range(group.total)]
    if not group.settled:
        _settled(state, group)


def _join_met(state: State, event: e.JoinMet, at: Instant) -> None:
    waiting = [state.tokens[number] for number in event.arrivals]
    payload = {token.origin: token.payload for token in waiting}
    hop, scope = max(token.hop for token in waiting), waiting[0].scope
    for token in waiting:
        _remove(state, token.id)
    joined = Token(event.token, event.node, scope, hop + 1, payload, f"join {event.node}", since=at)
    joined.instance = event.instance
    joined.lane = _shared([token.lane for token in waiting])
    joined.fault = next((token.fault for token in waiting if token.fault is not None), None)
    _add(state, joined)
    state.next_token = max(state.next_token, event.token + 1)
    state.hops += 1


def _shared(lanes: list[tuple[int, ...]]) -> tuple[int, ...]:
    """How far they ran together."""
    shortest = min(lanes, key=len)
    return next((shortest[:at] for at in range(len(shortest)) if len({lane[at] for lane in lanes}) > 1), shortest)


def _loop_advanced(state: State, event: e.LoopAdvanced, _: Instant) -> None:
    state.scopes[event.scope].loops[event.node] = event.count


def _loop_left(state: State, event: e.LoopLeft, _: Instant) -> None:
    state.scopes[event.scope].loops.pop(event.node, None)


def _timer_set(state: State, event: e.TimerSet, _: Instant) -> None:
    state.timers[event.timer] = Timer(event.due, event.purpose, event.token, event.group, event.undo)
    if event.token in state.tokens:
        state.tokens[event.token].timers.append(event.timer)


def _timer_gone(state: State, event: e.TimerCleared | e.TimerFired, _: Instant) -> None:
    timer = state.timers.pop(event.timer, None)
    token = state.tokens.get(timer.token) if timer else None
    if token is not None and event.timer in token.timers:
        token.timers.remove(event.timer)


def _timer_fired(state: State, event: e.TimerFired, at: Instant) -> None:
    timer = state.timers.get(event.timer)
    if timer is not None and timer.purpose == "retry":
        state.tokens[timer.token].status = "ready"
    _timer_gone(state, event, at)


def _signal_received(state: State, event: e.SignalReceived, at: Instant) -> None:
    state.signals.append(Signal(event.signal, event.name, event.payload))
    remember(state, event.signal, at)
    _note(state, event.payload)


def remember(state: State, command: str, at: Instant) -> None:
    """Its id, so that its like is known when it comes again; those of long ago are let go."""
    while state.seen and (oldest := next(iter(state.seen.items())))[1] < at - REMEMBERED:
        del state.seen[oldest[0]]
    state.seen[command] = at


def _signal_consumed(state: State, event: e.SignalConsumed, _: Instant) -> None:
    state.signals = [signal for signal in state.signals if signal.id != event.signal]
    state.tokens[event.token].handle = ""


def _signal_awaited(state: State, event: e.SignalAwaited, at: Instant) -> None:
    token = state.tokens[event.token]
    token.status, token.handle, token.since = "waiting", event.name, at


def _approval_requested(state: State, event: e.ApprovalRequested, at: Instant) -> None:
    token = state.tokens[event.token]
    _input(token, event.input)
    _occupy(state, token)
    token.status, token.handle, token.since = "deciding", event.approval, at
    state.consumed += not token.asked
    token.asked = event.approval
    state.approvals[event.approval] = token.id


def _approval_decided(state: State, event: e.ApprovalDecided, _: Instant) -> None:
    state.decided[event.approval] = event.decision
    token = state.approvals.pop(event.approval, 0)
    if token in state.tokens:
        state.tokens[token].handle = ""
    _note(state, event.data)


def _approval_escalated(state: State, event: e.ApprovalEscalated, at: Instant) -> None:
    token = state.tokens[state.approvals[event.approval]]
    token.attempt, token.since = token.attempt + 1, at


def _approval_withdrawn(state: State, event: e.ApprovalWithdrawn, _: Instant) -> None:
    state.decided[event.approval] = "withdrawn"
    state.approvals.pop(event.approval, None)


def _child_started(state: State, event: e.ChildStarted, at: Instant) -> None:
    token = state.tokens[event.token]
    _input(token, event.input)
    _occupy(state, token)
    token.status, token.handle, token.since = "child", event.child, at
    token.attempt += 1
    state.children[event.child] = token.id


def _child_ended(state: State, event: e.ChildEnded, _: Instant) -> None:
    state.children.pop(event.child, None)


def _child_cancelled(state: State, event: e.ChildCancelled, _: Instant) -> None:
    token = state.tokens[event.token]
    state.flights[token.id] = Flight(token.node, token.attempt, token.given, event.compensate, event.child)


def _paused(state: State, _: e.RunPaused, __: Instant) -> None:
    state.paused = True


def _resumed(state: State, _: e.RunResumed, __: Instant) -> None:
    state.paused = False


def _patch_proposed(state: State, event: e.PatchProposed, at: Instant) -> None:
    state.proposals[event.patch] = Proposal(event.operations, event.by, event.note)
    remember(state, event.patch, at)


def _patch_decided(state: State, event: e.PatchDecided, _: Instant) -> None:
    state.decided[event.patch] = event.decision
    del state.proposals[event.patch]


def _run_patched(state: State, event: e.RunPatched, at: Instant) -> None:
    state.definition = event.definition
    state.patches.append(list(event.operations))
    remember(state, event.patch, at)
    _revised(state, event, at)


def _run_migrated(state: State, event: e.RunMigrated, at: Instant) -> None:
    """What was patched so far went into the version that is left behind."""
    state.graph, state.definition, state.patches, state.base = event.definition, "", [], event.revision
    if event.state is not UNSET:
        root = state.scopes[ROOT]
        root.data, root.weight = event.state, len(_encode(event.state))
    _revised(state, event, at)


def _revised(state: State, event: e.RunPatched | e.RunMigrated, at: Instant) -> None:
    state.revision = event.revision
    state.begun += [Begun(begun.rule, set(begun.tokens)) for begun in event.begun]
    for number in event.renewed:
        _renew(state, state.tokens[number], at)
    state.held = {node: waiting for node, waiting in state.held.items() if waiting}


def _renew(state: State, token: Token, at: Instant) -> None:
    """It stands on its node as if it had just come, or its node had just completed."""
    if token.status == "routing":
        token.status = "done"
        return
    if token.status == "joining":
        _leave_join(state, token)
        token.instance = ""
    elif token.status == "parked":
        state.running[token.node] = state.running.get(token.node, 0) + 1
    state.held.get(token.node, {}).pop(token.id, None)
    token.status, token.handle, token.since = "ready", "", at


def _forget_begun(state: State, token: int) -> None:
    """What it does next, it does by its node's rule."""
    for begun in state.begun:
        begun.tokens.discard(token)
    state.begun = [begun for begun in state.begun if begun.tokens]


def _yielded(state: State, _: e.RunYielded, __: Instant) -> None:
    state.yielded = True


def _continued(state: State, _: e.RunContinued, __: Instant) -> None:
    state.yielded = False


def _run_ending(state: State, event: e.RunEnding, _: Instant) -> None:
    state.outcome, state.fault = event.outcome, event.fault


def _run_completed(state: State, event: e.RunCompleted, _: Instant) -> None:
    state.outcome, state.output = "completed", event.output


def _run_closed(state: State, event: e.RunClosed, _: Instant) -> None:
    state.phase, state.paused, state.undoing = "closed", False, None
    state.undone, state.undo_fault = state.undone or event.undone, event.fault
    state.timers.clear()


def _compensation_requested(state: State, event: e.CompensationRequested, _: Instant) -> None:
    state.undoing = event.reason
    if state.phase == "closed":
        state.phase = "compensating"


def _compensation_started(state: State, event: e.CompensationStarted, _: Instant) -> None:
    state.phase, state.paused = "compensating", False
    flight = state.flights.pop(event.token, None)
    if flight is not None:
        _done(state, _landed(event.token, flight, None))
    done = state.undo[event.token]
    done.status, done.attempt = "running", event.attempt
    state.undo_now = event.token


def _compensation_retried(state: State, event: e.CompensationRetryScheduled, _: Instant) -> None:
    _undone(state, event.token, "retrying")


def _compensation_skipped(state: State, event: e.CompensationSkipped, _: Instant) -> None:
    if event.token in state.flights:
        state.flights[event.token].skipped = True
    else:
        _undone(state, event.token, "skipped")


def _compensation_ended(state: State, event: e.CompensationEnded, _: Instant) -> None:
    _undone(state, event.token, "done" if event.fault is None else "failed")


def reason_to_undo(state: State) -> Literal["failure", "cancel", "manual"] | None:
    """Somebody asked, or the outcome does."""
    return state.undoing or _REASONS.get(state.outcome)


_REASONS: dict[str | None, Literal["failure", "cancel"]] = {
    "failed": "failure",
    "timed_out": "failure",
    "cancelled": "cancel",
}


def undo_of(state: State, token: int) -> Done | None:
    return state.undo.get(token)


def _undone(state: State, token: int, status: Literal["retrying", "done", "failed", "skipped"]) -> None:
    done = state.undo.get(token)
    if done is not None:
        done.status = status
    if status != "retrying" and state.undo_now == token:
        state.undo_now = 0


def _done(state: State, done: Done) -> None:
    """What was done twice under one idempotency key was done once."""
    state.flights.pop(done.token, None)
    state.undo.setdefault(done.token, done)


def _landed(token: int, flight: Flight, output: Json) -> Done:
    child = flight.child if flight.rule.type == CHILD else ""
    return Done(token, flight.node, flight.input, output, flight.rule, child=child)


def _add(state: State, token: Token) -> None:
    state.tokens[token.id] = token
    state.scopes[token.scope].tokens.add(token.id)
    state.emitted += 1


def _remove(state: State, number: int) -> None:
    token = state.tokens.pop(number)
    _release(state, token)
    for timer in token.timers:
        state.timers.pop(timer, None)
    held = state.held.get(token.node)
    if held:
        held.pop(number, None)
    if token.status == "child":
        state.children.pop(token.handle, None)
    scope = state.scopes[token.scope]
    scope.tokens.discard(number)
    state.consumed += not token.asked
    if token.status == "joining":
        _leave_join(state, token)
    if state.begun:
        _forget_begun(state, number)


def _leave_join(state: State, token: Token) -> None:
    state.scopes[token.scope].joining -= 1
    waiting = state.joins[token.instance]
    waiting[token.origin].remove(token.id)
    if not waiting[token.origin]:
        del waiting[token.origin]
    if not waiting:
        del state.joins[token.instance]


def _consume_arrivals(state: State, group: Group) -> None:
    """At its join, once that has fired or failed, or never will."""
    state.consumed += group.waiting
    group.waiting = 0


def _occupy(state: State, token: Token) -> None:
    """It has begun, if it had not before."""
    if not token.occupies:
        state.running[token.node] = state.running.get(token.node, 0) + 1
    held = state.held.get(token.node)
    if held:
        held.pop(token.id, None)
    if state.begun:
        _forget_begun(state, token.id)


def _release(state: State, token: Token) -> None:
    if token.occupies and token.node in state.running:
        state.running[token.node] -= 1


def _input(token: Token, value: Json) -> None:
    if value is not UNSET:
        token.input, token.mapped = value, True


def _note(state: State, value: Json) -> None:
    """From now on, expressions have to look out for references."""
    if not state.blobs and isinstance(value, dict | list) and holds_reference(value):
        state.blobs = True


def _write(scope: Scope, changes: tuple[Change, ...]) -> None:
    if changes:
        scope.weight += len(_encode(changes))
        written = apply_changes(scope.data, changes)
        if isinstance(written, Failure):  # the decision checked it
            raise AssertionError(written.message)
        scope.data = written


def fault_json(fault: e.Fault) -> dict[str, Json]:
    """`_last_error`, as expressions see it."""
    return {
        "code": fault.code,
        "message": fault.message,
        "node": fault.node,
        "attempt": fault.attempt,
        "retryable": fault.retryable,
        "details": fault.details,
        "cause": fault.details.get("cause"),
    }


HANDLERS: dict[type[e.Event], Callable[[State, Any, Instant], None]] = {
    e.RunStarted: _run_started,
    e.TokenCreated: _token_created,
    e.TokenWaiting: _token_waiting,
    e.TokenHeld: _token_held,
    e.TokenConsumed: _token_consumed,
    e.TokenCancelled: _token_cancelled,
    e.TokenAbandoned: _token_abandoned,
    e.TaskCancelled: _task_cancelled,
    e.TaskStarted: _ignored,
    e.NodeDispatched: _node_dispatched,
    e.NodeCompleted: _node_completed,
    e.NodeRecalled: _node_recalled,
    e.RoutingAsked: _routing_asked,
    e.RoutingAnswered: _routing_answered,
    e.ArtifactsStaged: _artifacts_staged,
    e.ArtifactsCommitted: _ignored,
    e.TaskFailed: _task_failed,
    e.TaskRetryScheduled: _retry_scheduled,
    e.TokenParked: _token_parked,
    e.TokenUnparked: _token_unparked,
    e.NodeFailed: _node_failed,
    e.TaskExhausted: _ignored,
    e.ResultRecorded: _result_recorded,
    e.ResultIgnored: _ignored,
    e.GroupOpened: _group_opened,
    e.BranchArrived: _branch_arrived,
    e.BranchClosed: _branch_closed,
    e.JoinCompleted: _join_completed,
    e.JoinFailed: _join_failed,
    e.GroupClosed: _group_closed,
    e.JoinMet: _join_met,
    e.LoopAdvanced: _loop_advanced,
    e.LoopLeft: _loop_left,
    e.TimerSet: _timer_set,
    e.TimerCleared: _timer_gone,
    e.TimerFired: _timer_fired,
    e.SignalReceived: _signal_received,
    e.SignalConsumed: _signal_consumed,
    e.SignalAwaited: _signal_awaited,
    e.ApprovalRequested: _approval_requested,
    e.ApprovalDecided: _approval_decided,
    e.ApprovalEscalated: _approval_escalated,
    e.ApprovalWithdrawn: _approval_withdrawn,
    e.ChildStarted: _child_started,
    e.ChildEnded: _child_ended,
    e.ChildCancelled: _child_cancelled,
    e.RunPaused: _paused,
    e.RunResumed: _resumed,
    e.PatchProposed: _patch_proposed,
    e.PatchDecided: _patch_decided,
    e.RunPatched: _run_patched,
    e.RunMigrated: _run_migrated,
    e.RunEnding: _run_ending,
    e.RunCompleted: _run_completed,
    e.RunClosed: _run_closed,
    e.RunYielded: _yielded,
    e.RunContinued: _continued,
    e.CompensationRequested: _compensation_requested,
    e.CompensationStarted: _compensation_started,
    e.CompensationRetryScheduled: _compensation_retried,
    e.CompensationSkipped: _compensation_skipped,
    e.CompensationEnded: _compensation_ended,
    e.IncidentRaised: _ignored,
}
