"""What a run asks of the world: is it still asked, what does a script get to see of it, and what is the reply."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Struct

from penstock.core.graph.evolve import undo_of
from penstock.core.graph.program import Program
from penstock.core.graph.state import State, Token
from penstock.core.model import commands as c
from penstock.core.model import effects as f
from penstock.core.model import events as e
from penstock.testkit.workflow.answers import Ask, Decided, Failed, Kind, Returned

Json: TypeAlias = Any

_KINDS: dict[str, Kind] = {"node": "task", "undo": "undo", "route": "verdict"}


class AwaitSignal(Struct, frozen=True):
    """A token waits for a signal: the only question that is no effect, since nobody in particular is asked."""

    token: int
    name: str


Question: TypeAlias = f.DispatchTask | f.AskApproval | f.StartChild | AwaitSignal
QUESTIONS = (f.DispatchTask, f.AskApproval, f.StartChild)


def key(question: Question) -> object:
    """The same for the same question, however often it is put."""
    match question:
        case f.DispatchTask():
            return (question.token, question.attempt, question.purpose)
        case f.AskApproval():
            return (question.approval, question.due)
        case f.StartChild():
            return question.child
        case AwaitSignal():
            return question


def is_open(state: State, question: Question) -> bool:
    match question:
        case f.AskApproval():
            return question.approval in state.approvals
        case f.StartChild():
            return question.child in state.children
        case f.DispatchTask(purpose="undo"):
            done = undo_of(state, question.token)
            return done is not None and done.status == "running" and done.attempt == question.attempt
        case _:
            token = state.tokens.get(question.token)
            return token is not None and _waits_for(token, question)


def _waits_for(token: Token, question: f.DispatchTask | AwaitSignal) -> bool:
    if isinstance(question, AwaitSignal):
        return token.status == "waiting" and token.handle == question.name
    if question.purpose == "route":
        return token.status == "routing" and token.question is not None and token.question.number == question.attempt
    return token.status == "running" and token.attempt == question.attempt


def ask_of(program: Program, state: State, question: Question) -> Ask:
    rules = program.graph.nodes
    match question:
        case f.DispatchTask():
            kind, node, attempt = _KINDS[question.purpose], question.node, question.attempt
            return Ask(kind, node, question.input, attempt, rules.get(node), question.config)
        case f.AskApproval():
            return Ask("decision", question.node, question.input, 1, rules.get(question.node))
        case f.StartChild():
            token = state.tokens[state.children[question.child]]
            return Ask("child", token.node, question.input, token.attempt, rules.get(token.node))
        case AwaitSignal():
            node = state.tokens[question.token].node
            return Ask("signal", node, None, 1, rules.get(node))


def reply(question: Question, answer: Returned | Failed | Decided, serial: int) -> c.Command:
    """`Script` has made sure that the answer fits."""
    match question, answer:
        case AwaitSignal(), Returned():
            return c.SendSignal(f"scripted-{serial}", question.name, answer.output)
        case f.AskApproval(), Decided():
            return c.DecideApproval(question.approval, answer.decision, answer.by, answer.comments, answer.data)
        case f.StartChild(), Returned():
            return c.EndChild(question.child, "completed", answer.output)
        case f.StartChild(), Failed():
            return c.EndChild(question.child, "failed", fault=_fault(answer))
        case f.DispatchTask(), Returned() | Failed():
            return _result(question, answer)
        case _:
            raise TypeError(answer)


def _result(task: f.DispatchTask, answer: Returned | Failed) -> c.Command:
    if isinstance(answer, Failed):
        return c.TaskResult(task.token, task.attempt, task.nonce, "failed", fault=_fault(answer))
    output = answer.output
    if task.purpose == "route":
        output = {program["id"]: output for program in task.config["programs"]}
    return c.TaskResult(task.token, task.attempt, task.nonce, "completed", output, next_nodes=answer.next_nodes)


def _fault(answer: Failed) -> e.Fault:
    return e.Fault(answer.code, answer.message, retryable=answer.retryable, details=answer.details)


def begun(question: Question) -> c.Command | None:
    """Somebody has it, and will take a while."""
    if not isinstance(question, f.DispatchTask) or question.purpose != "node":
        return None
    return c.TaskBegun(question.token, question.attempt, question.nonce)


def stopped(question: f.DispatchTask) -> c.Command:
    """What a worker says that stops when it is told to."""
    return c.TaskResult(question.token, question.attempt, question.nonce, "cancelled")
