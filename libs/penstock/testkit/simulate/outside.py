"""Workers, people and child runs: they answer what the script says, when the schedule lets them, and perhaps twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

from penstock.core.model import commands as c
from penstock.core.model import effects as f
from penstock.core.model.events import Fault
from penstock.testkit.reference import Asked, Completed, Decided, Failed, Script
from penstock.testkit.simulate.record import Record

Sent: TypeAlias = tuple[str, c.Command]
"""A command, and the id it is known by however often it is sent."""


class Outside:
    def __init__(self, script: Script, record: Record) -> None:
        self._script, self._record = script, record
        self.open: dict[str, f.Effect] = {}
        """What somebody has to do; a task is there once, however often it is published."""
        self.told: set[str] = set()
        """Tasks and children that were told to stop."""
        self.sent: list[Sent] = []

    def take(self, effect: f.Effect) -> None:
        take = self._TAKE.get(type(effect))
        if take is not None:
            take(self, effect)

    def answer(self, name: str, *, stays: bool = False) -> Sent:
        """`stays`: whoever did it dies before it says so; somebody does it again."""
        effect = self.open[name]
        if not stays:
            del self.open[name]
        return self._send(name, self._ANSWER[type(effect)](self, effect))

    def obey(self, name: str) -> Sent:
        """Stop when told to."""
        effect = self.open.pop(name)
        self.told.discard(name)
        if isinstance(effect, f.DispatchTask):
            return self._send(name, c.TaskResult(effect.token, effect.attempt, effect.nonce, "cancelled"))
        return self._send(name, c.EndChild(name, "cancelled"))

    def _send(self, name: str, command: c.Command) -> Sent:
        self.sent.append((name, command))
        return name, command

    # -- what is asked for

    def _task(self, effect: f.DispatchTask) -> None:
        self.open.setdefault(f"{effect.purpose}-{effect.token}-{effect.attempt}", effect)

    def _approval(self, effect: f.AskApproval) -> None:
        self.open.setdefault(effect.approval, effect)

    def _child(self, effect: f.StartChild) -> None:
        self.open.setdefault(effect.child, effect)

    def _stop(self, effect: f.CancelTask) -> None:
        self._tell(f"node-{effect.token}-{effect.attempt}")

    def _tell_child(self, effect: f.TellChild) -> None:
        if effect.what == "cancel":
            self._tell(effect.child)
        elif effect.what == "compensate":
            self.open.setdefault(f"undo-{effect.child}", effect)

    def _tell(self, name: str) -> None:
        if name in self.open:
            self.told.add(name)

    # -- what is answered

    def _work(self, effect: f.DispatchTask) -> c.Command:
        token, attempt, nonce = effect.token, effect.attempt, effect.nonce
        if effect.purpose == "undo":
            return c.TaskResult(token, attempt, nonce, "completed")
        answer = self._ask(token, attempt)
        if isinstance(answer, Completed):
            return c.TaskResult(token, attempt, nonce, "completed", answer.output, next_nodes=answer.next_nodes or None)
        return c.TaskResult(token, attempt, nonce, "failed", fault=_fault(answer))

    def _decide(self, effect: f.AskApproval) -> c.Command:
        token = int(effect.approval.rpartition(".")[2])
        answer = self._ask(token, 1)
        approved = isinstance(answer, Decided) and answer.approved
        return c.DecideApproval(effect.approval, "approved" if approved else "rejected", "ann")

    def _run(self, effect: f.StartChild) -> c.Command:
        answer = self._ask(*self._record.children[effect.child])
        if isinstance(answer, Completed):
            return c.EndChild(effect.child, "completed", answer.output)
        return c.EndChild(effect.child, "failed", fault=_fault(answer))

    def _undo_child(self, effect: f.TellChild) -> c.Command:
        return c.ChildCompensated(effect.child)

    def _ask(self, token: int, attempt: int) -> object:
        place = self._record.places[token]
        return self._script(Asked(place.node, place.path, place.visit, attempt, place.input))

    _TAKE: ClassVar[dict[type[f.Effect], Callable[[Any, Any], None]]] = {
        f.DispatchTask: _task,
        f.AskApproval: _approval,
        f.StartChild: _child,
        f.CancelTask: _stop,
        f.TellChild: _tell_child,
    }

    _ANSWER: ClassVar[dict[type[f.Effect], Callable[[Any, Any], c.Command]]] = {
        f.DispatchTask: _work,
        f.AskApproval: _decide,
        f.StartChild: _run,
        f.TellChild: _undo_child,
    }


def _fault(answer: object) -> Fault:
    retryable = isinstance(answer, Failed) and answer.retryable
    return Fault(answer.code if isinstance(answer, Failed) else "E_SCRIPT", "as scripted", retryable=retryable)
