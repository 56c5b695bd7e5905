"""What a run waits for, told from its state alone.

`outstanding` lists everything at any moment; the effects of a commit are those of its events, and always among
them, but for what only tells somebody to stop. Publishing one twice is harmless: its id is the thing's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Any, Literal

import msgspec

from penstock.core.graph.evolve import fault_json, reason_to_undo, undo_of
from penstock.core.graph.program import Program
from penstock.core.graph.state import Done, State, Token
from penstock.core.model import effects as f
from penstock.core.model import events as e
from penstock.core.model.time import MILLISECOND, Instant

CONDITIONS = "conditions"
"""The queue, and the type of task, of conditions that run user code."""


def nonce(state: State, token: int, attempt: int, purpose: Literal["node", "undo", "route"] = "node") -> str:
    """A result must carry it: nobody who did not get the task can answer it."""
    return blake2b(f"{state.seed}:{token}:{attempt}:{purpose}".encode(), digest_size=8).hexdigest()


def outstanding(program: Program, state: State) -> list[f.Effect]:
    found: list[f.Effect] = []
    if not state.paused:
        found += _of_tokens(program, state)
    found += [f.ArmTimer(name, timer.due) for name, timer in state.timers.items()]
    undoing = undo_of(state, state.undo_now)
    if undoing is not None and undoing.status == "running":
        found.append(_compensation(state, undoing))
    if state.yielded:
        found.append(f.ContinueRun())
    if state.paused:
        found += [f.TellChild(child, "pause") for child in state.children]
    if state.outcome == "completed":
        found += _completed(program, state, None)
    if state.phase == "closed":
        found += _closed(program, state, None)
    return found


def effects(program: Program, state: State, events: Iterable[e.Event]) -> list[f.Effect]:
    """Of one decision's events, given the state after them: later ones may have undone earlier ones."""
    found: list[f.Effect] = []
    for event in events:
        caused = _CAUSED.get(type(event))
        if caused is not None:
            found += caused(program, state, event)
    return found


def _begun(
    program: Program, state: State, event: e.NodeDispatched | e.ApprovalRequested | e.ChildStarted | e.RoutingAsked
) -> Iterable[f.Effect]:
    token = state.tokens.get(event.token)
    return () if token is None or state.paused else _of_token(program, state, token)


def _escalated(program: Program, state: State, event: e.ApprovalEscalated) -> Iterable[f.Effect]:
    token = state.tokens.get(state.approvals.get(event.approval, 0))
    return () if token is None or state.paused else _of_token(program, state, token)


def _armed(_: Program, state: State, event: e.TimerSet) -> Iterable[f.Effect]:
    return (f.ArmTimer(event.timer, event.due),) if event.timer in state.timers else ()


def _dropped(_: Program, __: State, event: e.TimerCleared) -> Iterable[f.Effect]:
    return (f.DropTimer(event.timer),)


def _undoing(_: Program, state: State, event: e.CompensationStarted) -> Iterable[f.Effect]:
    done = undo_of(state, event.token)
    return () if done is None or done.status != "running" else (_compensation(state, done),)


def _task_stopped(_: Program, __: State, event: e.TaskCancelled) -> Iterable[f.Effect]:
    return (f.CancelTask(event.token, event.attempt, event.queue),)


def _child_stopped(_: Program, __: State, event: e.ChildCancelled) -> Iterable[f.Effect]:
    return (f.TellChild(event.child, "cancel"),)


def _withdrawn(_: Program, __: State, event: e.ApprovalWithdrawn) -> Iterable[f.Effect]:
    return (f.WithdrawApproval(event.approval),)


def _exhausted(_: Program, __: State, event: e.TaskExhausted) -> Iterable[f.Effect]:
    return (f.KeepDeadLetter(event.token, event.attempt, event.node, event.queue, event.fault, event.parked),)


def _remembered(_: Program, __: State, event: e.NodeCompleted) -> Iterable[f.Effect]:
    return (f.SaveMemo(event.memo, event.output),) if event.memo else ()


def _paused(_: Program, state: State, __: e.RunPaused) -> Iterable[f.Effect]:
    return [f.TellChild(child, "pause") for child in state.children] if state.paused else ()


def _resumed(program: Program, state: State, _: e.RunResumed) -> Iterable[f.Effect]:
    """What was begun before the pause may never have reached anybody."""
    if state.paused:
        return ()
    return [*_of_tokens(program, state), *(f.TellChild(child, "resume") for child in state.children)]


def _yielded(_: Program, __: State, ___: e.RunYielded) -> Iterable[f.Effect]:
    return (f.ContinueRun(),)


def _completed(_: Program, state: State, __: e.RunCompleted | None) -> Iterable[f.Effect]:
    if state.artifacts:
        yield f.CommitArtifacts(tuple(state.artifacts.values()))
    if state.parent:
        yield f.ReportOutcome(state.parent, "completed", state.output)


def _closed(_: Program, state: State, __: e.RunClosed | None) -> Iterable[f.Effect]:
    """A parent hears of a failure when everything is undone; of success, when it is known."""
    if state.parent and state.outcome is not None and state.outcome != "completed":
        yield f.ReportOutcome(state.parent, state.outcome, fault=state.fault)
    if state.parent and state.undone:
        yield f.ReportCompensation(state.parent, state.undo_fault)


def _of_tokens(program: Program, state: State) -> list[f.Effect]:
    return [effect for token in state.tokens.values() for effect in _of_token(program, state, token)]


def _of_token(program: Program, state: State, token: Token) -> Iterable[f.Effect]:
    begin = _WAITS.get(token.status)
    return () if begin is None else begin(program, state, token)


def _task(program: Program, state: State, token: Token) -> Iterable[f.Effect]:
    rule = program.begun_by(state, token)
    return (
        f.DispatchTask(
            token=token.id,
            attempt=token.attempt,
            nonce=nonce(state, token.id, token.attempt),
            node=token.node,
            kind=rule.type,
            queue=rule.queue,
            config=rule.config,
            config_ref=rule.config_ref,
            input=token.given,
            idempotency_key=f"{state.run}.{token.id}",
            timeout=rule.timeout,
            claim=rule.claim,
        ),
    )


def _question(_: Program, state: State, token: Token) -> Iterable[f.Effect]:
    asked = token.question
    if asked is None:
        return ()
    return (
        f.DispatchTask(
            token=token.id,
            attempt=asked.number,
            nonce=nonce(state, token.id, asked.number, "route"),
            node=token.node,
            kind=CONDITIONS,
            queue=CONDITIONS,
            config={"programs": msgspec.to_builtins(asked.programs)},
            input=asked.seen,
            idempotency_key=f"{state.run}.{token.id}.route",
            timeout=sum(program.timeout_ms for program in asked.programs),
            purpose="route",
        ),
    )


def _approval(program: Program, state: State, token: Token) -> Iterable[f.Effect]:
    human = program.begun_by(state, token).human
    timer = state.timers.get(f"t{token.id}.{token.attempt}.approval")
    asked: tuple[str, ...] = ()
    if human is not None:
        asked = human.escalate_to if token.attempt else human.approvers
    return (
        f.AskApproval(
            token.handle, token.node, token.given, asked, timer.due if timer else None, human.form if human else None
        ),
    )


def _child(program: Program, state: State, token: Token) -> Iterable[f.Effect]:
    child = program.begun_by(state, token).child
    if child is None:
        return ()
    timer = state.timers.get("run.run_deadline")
    deadlines = [] if timer is None else [timer.due]
    if child.timeout is not None:
        deadlines.append(Instant(token.since + child.timeout * MILLISECOND))
    return (
        f.StartChild(
            token.handle,
            child.workflow,
            child.version,
            token.given,
            state.depth + 1,
            min(deadlines, default=None),
            (*state.inherited.values(), *state.artifacts.values()) if child.inherit_artifacts else (),
        ),
    )


def _parked(program: Program, state: State, token: Token) -> Iterable[f.Effect]:
    rule = program.begun_by(state, token)
    if token.fault is None:
        return ()
    return (f.KeepDeadLetter(token.id, token.attempt, token.node, rule.queue, token.fault, parked=True),)


def _compensation(state: State, done: Done) -> f.Effect:
    if done.child:
        return f.TellChild(done.child, "compensate", reason_to_undo(state) or "manual")
    fault = None if state.fault is None else fault_json(state.fault)
    reason = reason_to_undo(state)
    return f.DispatchTask(
        token=done.token,
        attempt=done.attempt,
        nonce=nonce(state, done.token, done.attempt, "undo"),
        node=done.node,
        kind=done.rule.type,
        queue=done.rule.queue,
        config=done.rule.config,
        config_ref=done.rule.config_ref,
        input={"input": done.input, "output": done.output, "reason": reason, "error": fault},
        idempotency_key=f"{state.run}.{done.token}.undo",
        timeout=done.rule.timeout,
        purpose="undo",
    )


_WAITS: dict[str, Callable[[Program, State, Token], Iterable[f.Effect]]] = {
    "running": _task,
    "routing": _question,
    "deciding": _approval,
    "child": _child,
    "parked": _parked,
}
"""What a token waits for, by its status."""

_CAUSED: dict[type[e.Event], Callable[[Program, State, Any], Iterable[f.Effect]]] = {
    e.NodeDispatched: _begun,
    e.NodeCompleted: _remembered,
    e.ApprovalRequested: _begun,
    e.ApprovalEscalated: _escalated,
    e.ApprovalWithdrawn: _withdrawn,
    e.ChildStarted: _begun,
    e.ChildCancelled: _child_stopped,
    e.RoutingAsked: _begun,
    e.TaskCancelled: _task_stopped,
    e.TaskExhausted: _exhausted,
    e.TimerSet: _armed,
    e.TimerCleared: _dropped,
    e.CompensationStarted: _undoing,
    e.RunPaused: _paused,
    e.RunResumed: _resumed,
    e.RunYielded: _yielded,
    e.RunCompleted: _completed,
    e.RunClosed: _closed,
}
