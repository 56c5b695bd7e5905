"""What a run waits for, told from its state alone.

`outstanding` lists everything at any moment; the effects of a commit are those of its events, and always among
them. Publishing one twice is harmless: its id is the thing's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Any

from penstock.core.graph.program import Program
from penstock.core.graph.state import Done, State, Token
from penstock.core.model import effects as f
from penstock.core.model import events as e


def nonce(state: State, token: int, attempt: int, *, undo: bool = False) -> str:
    """A result must carry it: nobody who did not get the task can answer it."""
    return sha256(f"{state.seed}:{token}:{attempt}:{undo}".encode()).hexdigest()[:16]


def outstanding(program: Program, state: State) -> list[f.Effect]:
    found: list[f.Effect] = []
    if not state.paused:
        found += filter(None, (_of_token(program, state, token) for token in state.tokens.values()))
    found += [f.ArmTimer(name, timer.due) for name, timer in state.timers.items()]
    found += [_compensation(state, done) for done in state.undo if done.status == "running"]
    return found


def effects(program: Program, state: State, events: Iterable[e.Event]) -> list[f.Effect]:
    """Of one decision's events, given the state after them: later ones may have undone earlier ones."""
    found: list[f.Effect] = []
    for event in events:
        caused = _CAUSED.get(type(event))
        if caused is not None and (effect := caused(program, state, event)) is not None:
            found.append(effect)
    return found


def _begun(
    program: Program, state: State, event: e.NodeDispatched | e.ApprovalRequested | e.ChildStarted
) -> f.Effect | None:
    token = state.tokens.get(event.token)
    return None if token is None else _of_token(program, state, token)


def _armed(_: Program, state: State, event: e.TimerSet) -> f.Effect | None:
    return f.ArmTimer(event.timer, event.due) if event.timer in state.timers else None


def _dropped(_: Program, __: State, event: e.TimerCleared) -> f.Effect:
    return f.DropTimer(event.timer)


def _undoing(_: Program, state: State, event: e.CompensationStarted) -> f.Effect:
    return next(_compensation(state, done) for done in state.undo if done.token == event.token)


def _told(program: Program, state: State, event: e.TokenAbandoned) -> f.Effect | None:
    token = state.tokens.get(event.token)
    if token is None:
        return None
    if token.status == "child":
        return f.CancelChild(token.handle)
    return f.CancelTask(token.id, token.attempt, program.nodes[token.node].rule.queue)


def _yielded(_: Program, __: State, ___: e.RunYielded) -> f.Effect:
    return f.ContinueRun()


def _closed(_: Program, state: State, __: e.RunClosed) -> f.Effect | None:
    return f.ReportOutcome(state.parent, state.outcome or "", state.output) if state.parent else None


def _of_token(program: Program, state: State, token: Token) -> f.Effect | None:
    rule = program.nodes[token.node].rule
    given = token.input if token.mapped else token.payload
    if token.status == "running":
        return f.DispatchTask(
            token=token.id,
            attempt=token.attempt,
            nonce=nonce(state, token.id, token.attempt),
            node=token.node,
            kind=rule.type,
            queue=rule.queue,
            config=rule.config,
            input=given,
            idempotency_key=f"t{token.id}",
            timeout=rule.timeout,
            claim=rule.claim,
        )
    if token.status == "deciding":
        human = rule.human
        timer = state.timers.get(f"t{token.id}.{token.attempt}.approval")
        return f.AskApproval(
            token.handle,
            token.node,
            given,
            human.approvers if human else (),
            timer.due if timer else None,
            human.form if human else None,
        )
    if token.status == "child" and rule.child is not None:
        return f.StartChild(token.handle, rule.child.workflow, rule.child.version, given)
    return None


def _compensation(state: State, done: Done) -> f.DispatchTask:
    return f.DispatchTask(
        token=done.token,
        attempt=done.attempt,
        nonce=nonce(state, done.token, done.attempt, undo=True),
        node=done.node,
        kind=done.rule.type,
        queue=done.rule.queue,
        config=done.rule.config,
        input={"input": done.input, "output": done.output, "reason": state.outcome, "error": state.fault},
        idempotency_key=f"t{done.token}.undo",
        timeout=done.rule.timeout,
        compensates=True,
    )


_CAUSED: dict[type[e.Event], Callable[[Program, State, Any], f.Effect | None]] = {
    e.NodeDispatched: _begun,
    e.ApprovalRequested: _begun,
    e.ChildStarted: _begun,
    e.TimerSet: _armed,
    e.TimerCleared: _dropped,
    e.CompensationStarted: _undoing,
    e.TokenAbandoned: _told,
    e.RunYielded: _yielded,
    e.RunClosed: _closed,
}
