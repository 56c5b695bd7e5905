"""Drives the graph decider with scripted work, and checks at every step that the fold of the events is the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import msgspec

from penstock.core.graph.counter import Counter, operations, standing
from penstock.core.graph.decide import decide
from penstock.core.graph.effects import effects, outstanding
from penstock.core.graph.evolve import evolve
from penstock.core.graph.programs import Programs
from penstock.core.graph.state import State
from penstock.core.model import commands as c
from penstock.core.model import effects as f
from penstock.core.model import events as e
from penstock.core.model.decider import Facts, Memo, Missing, Need
from penstock.core.model.time import SECOND, Instant
from penstock.core.model.upcast import decode_event, encode_event
from penstock.expr.evaluator import ExpressionEvaluator

Json = Any
EVALUATOR = ExpressionEvaluator()


PASSING = (f.CancelTask, f.DropTimer, f.WithdrawApproval, f.SaveMemo, f.KeepDeadLetter)
"""Effects that are lost if they are lost: nothing waits for them."""


def tells(effect: f.Effect) -> bool:
    return isinstance(effect, f.TellChild) and effect.what in {"cancel", "resume"}


class Drive:
    """One run of one definition."""

    def __init__(self, definition: Json, input: Json = None) -> None:  # noqa: A002 - as users call it
        self.programs = Programs(EVALUATOR)
        self.definitions = {"hash": definition}
        """By hash, or by workflow and version."""
        self.program = self.programs.compile(definition)
        self.state = State()
        self.now = Instant(SECOND)
        self.log: list[tuple[e.Event, Instant]] = []
        self.audited = State()
        self.counter = Counter()
        self.tasks: dict[tuple[int, int], f.DispatchTask] = {}
        self.input = input
        self.blobs: dict[str, Json] = {}
        self.memos: dict[str, Memo | None] = {}
        self.needed: list[Need] = []
        """What decisions could not go on without, until it was there."""

    def start(self) -> Self:
        return self.send(c.Start("w", "hash", self.input, "seed", "r"))

    def send(self, command: c.Command) -> Self:
        events = self._decide(command)
        if any(isinstance(event, e.RunPatched | e.RunMigrated) for event in events):
            self.program = Programs(EVALUATOR).find(self.state, self.definitions)
        self.log += [(event, self.now) for event in events]
        assert self.rebuilt() == self.state
        for operation in operations(self.audited, events, self.now):
            assert self.counter.apply(operation)
        assert self.counter.value == self.state.counter == standing(self.state)
        found = effects(self.program, self.state, events)
        waiting = outstanding(self.program, self.state)
        assert all(effect in waiting for effect in found if not isinstance(effect, PASSING) and not tells(effect))
        self.tasks = {(t.token, t.attempt): t for t in waiting if isinstance(t, f.DispatchTask)}
        if any(isinstance(effect, f.ContinueRun) for effect in found):
            self.send(c.Continue())
        return self

    def _decide(self, command: c.Command) -> list[e.Event]:
        """As often as something has to be fetched first; each time on the state as the log has it."""
        while True:
            try:
                return decide(
                    self.program, self.state, command, self.now, Facts(self.definitions, self.blobs, self.memos)
                )
            except Missing as missing:
                self.state = self.rebuilt()
                self.needed.append(missing.need)
                if not missing.need.blobs <= self.blobs.keys() and not missing.need.memos:
                    raise
                self.memos |= dict.fromkeys(missing.need.memos)

    def rebuilt(self) -> State:
        """From the log's bytes, and from a snapshot's, alike."""
        state = State()
        for event, at in self.log:
            evolve(state, decode_event(encode_event(event)), at)
        return msgspec.msgpack.decode(msgspec.msgpack.encode(state), type=State)

    # -- work

    def open(self, node: str | None = None) -> list[f.DispatchTask]:
        tasks = [task for task in self.tasks.values() if node in {None, task.node}]
        return sorted(tasks, key=lambda task: task.token)

    def answer(self, task: f.DispatchTask, output: Json = None, *, next_nodes: tuple[str, ...] | None = None) -> Self:
        return self.send(c.TaskResult(task.token, task.attempt, task.nonce, "completed", output, next_nodes=next_nodes))

    def complete(self, node: str, output: Json = None, *, index: int = 0) -> Self:
        return self.answer(self.open(node)[index], output)

    def fail(self, node: str, code: str = "BOOM", *, index: int = 0, retryable: bool = False) -> Self:
        task = self.open(node)[index]
        fault = e.Fault(code, "it broke", retryable=retryable)
        return self.send(c.TaskResult(task.token, task.attempt, task.nonce, "failed", fault=fault))

    def work(self, does: Callable[[f.DispatchTask], Json], pick: Callable[[int], int] = lambda _: 0) -> Self:
        """Answer whatever is open, in the order that `pick` gives, until nothing is."""
        while tasks := self.open():
            task = tasks[pick(len(tasks))]
            self.answer(task, does(task))
        return self

    def advance(self, seconds: float) -> Self:
        """Let time pass, firing timers on the way, each at its own moment."""
        end = self.now + round(seconds * SECOND)
        while due := sorted((t.due, name) for name, t in self.state.timers.items() if t.due <= end):
            self.now = Instant(max(self.now, due[0][0]))
            self.send(c.FireTimer(due[0][1]))
        self.now = Instant(end)
        return self

    # -- what came of it

    @property
    def outcome(self) -> str | None:
        return self.state.outcome

    @property
    def status(self) -> str:
        return self.state.status

    @property
    def output(self) -> Json:
        return self.state.output

    @property
    def code(self) -> str | None:
        return self.state.fault.code if self.state.fault else None

    def kinds(self) -> list[str]:
        return [msgspec.inspect.type_info(type(event)).tag for event, _ in self.log]  # type: ignore[attr-defined]

    def visited(self) -> list[str]:
        """Nodes that completed, in order."""
        names: dict[int, str] = {}
        found = []
        for event, _ in self.log:
            match event:
                case e.TokenCreated(token=number, node=node) | e.JoinMet(token=number, node=node):
                    names[number] = node
                case e.JoinCompleted(token=number, node=node):
                    names[number] = node
                case e.GroupOpened(first_token=first, branches=branches):
                    for branch in branches:
                        for _ in range(branch.count):
                            names[first] = branch.to
                            first += 1
                case e.NodeCompleted(token=number):
                    found.append(names[number])
        return found


def graph(*nodes: str | dict[str, Json], **more: Json) -> dict[str, Json]:
    """A definition out of task names, or nodes in full."""
    full = [{"id": node, "type": "task", "queue": "q"} if isinstance(node, str) else node for node in nodes]
    return {"name": "w", "nodes": full, **more}
