"""Approvals: decided by a person, by the clock, or withdrawn. The first that is recorded counts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from penstock.core.graph.complete import Result
from penstock.core.graph.decision import Decision
from penstock.core.graph.errors import IllegalTransition, UnknownTarget
from penstock.core.graph.fail import fail_node
from penstock.core.graph.reference import opened
from penstock.core.graph.report import complete_or_fail
from penstock.core.graph.state import Token
from penstock.core.model import commands as c
from penstock.core.model import events as e
from penstock.core.model.time import SECOND


def decide_approval(decision: Decision, command: c.DecideApproval) -> None:
    state = decision.state
    if command.approval in state.decided:
        raise IllegalTransition(what=command.approval, now=state.decided[command.approval], asked=command.decision)
    if command.approval not in state.approvals:
        raise UnknownTarget(kind="approval", name=command.approval)
    _decided(decision, state.tokens[state.approvals[command.approval]], command)


def approval_overdue(decision: Decision, token: Token) -> None:
    human = decision.node(token).rule.human
    policy = human.on_timeout if human else "fail"
    first = token.attempt == 0
    if policy in {"approve", "reject"}:
        decided: Literal["approved", "rejected"] = "approved" if policy == "approve" else "rejected"
        _decided(decision, token, c.DecideApproval(token.handle, decided, "timeout"))
    elif policy == "escalate" and first and human is not None and human.escalate_to and human.timeout is not None:
        due = decision.in_ms(human.timeout)
        decision.emit(e.ApprovalEscalated(token.handle, due))
        decision.set_timer(due, "approval", token=token)
    else:
        decision.emit(e.ApprovalWithdrawn(token.handle))
        fail_node(decision, token, e.Fault("APPROVAL_TIMEOUT", "nobody decided in time", token.node))


def _decided(decision: Decision, token: Token, command: c.DecideApproval) -> None:
    human = decision.node(token).rule.human
    decision.clear_timers(token)
    decision.emit(
        e.ApprovalDecided(
            command.approval, command.decision, command.decided_by, decision.now, command.comments, command.data
        )
    )
    if command.decision == "rejected" and (human is None or human.rejection_path is None):
        fail_node(decision, token, e.Fault("REJECTED", f"rejected by {command.decided_by}", token.node))
        return
    given = opened(token.given, decision.facts.blobs)  # what is to be added to must be there
    output = {
        **(given if isinstance(given, dict) else {"input": given}),
        **({} if command.data is None else {"data": command.data}),
        "decision": command.decision,
        "comments": command.comments,
        "decided_by": command.decided_by,
        "decided_at": datetime.fromtimestamp(decision.now / SECOND, UTC).isoformat(),
    }
    path = human.rejection_path if human and command.decision == "rejected" else None
    complete_or_fail(decision, token, Result(output, path))
