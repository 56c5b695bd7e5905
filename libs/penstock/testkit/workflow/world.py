"""The world around a tested run and its children: one clock, what is asked and not yet answered, what is under way."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from heapq import heapify, heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

from penstock.core.graph.errors import DomainError
from penstock.core.model import commands as c
from penstock.core.model import effects as f
from penstock.core.model.time import Instant
from penstock.testkit.workflow.answers import Answer, Later, Never
from penstock.testkit.workflow.errors import RunEndless, ScriptError
from penstock.testkit.workflow.questions import QUESTIONS, Question, ask_of, begun, is_open, key, reply, stopped

if TYPE_CHECKING:
    from penstock.testkit.workflow.run import Run

STEPS = 100_000
"""So many answers and firings to one verb, and the run counts as endless."""


class World:
    def __init__(self, now: Instant) -> None:
        self.now = now
        self.runs: list[Run] = []
        """The one that was started, then its children as they come."""
        self._mail: deque[tuple[Run, c.Command]] = deque()
        """Between parent and child, and from workers that were told to stop."""
        self._open: list[tuple[Run, Question]] = []
        self._seen: set[object] = set()
        self._late: list[tuple[Instant, int, Run, Question, Answer]] = []
        self._serial = count(1)

    # -- what runs ask for

    def take(self, run: Run, effect: f.Effect | Question) -> None:
        match effect:
            case f.CancelTask():
                self._stop(run, effect)
            case f.TellChild():
                self._tell(run, effect)
            case f.ReportOutcome() if run.parent is not None:
                self._mail.append((run.parent, c.EndChild(run.id, effect.outcome, effect.output, effect.fault)))  # type: ignore[arg-type]
            case f.ReportCompensation() if run.parent is not None:
                self._mail.append((run.parent, c.ChildCompensated(run.id, effect.fault)))
            case f.ContinueRun():
                self._mail.append((run, c.Continue()))
            case f.Effect() if not isinstance(effect, QUESTIONS):
                return
            case _:
                if (run.id, key(effect)) not in self._seen:
                    self._seen.add((run.id, key(effect)))
                    self._open.append((run, effect))

    def _stop(self, run: Run, told: f.CancelTask) -> None:
        """Workers stop when they are told, and say so to whoever still wants to know; those never heard of do not."""
        mine = [
            question
            for owner, question in [*self._open, *((owner, question) for _, _, owner, question, _ in self._late)]
            if owner is run
            and isinstance(question, f.DispatchTask)
            and question.purpose == "node"
            and (question.token, question.attempt) == (told.token, told.attempt)
        ]
        for question in mine:
            self._open = [found for found in self._open if found[1] is not question]
            self._late = [found for found in self._late if found[3] is not question]
            heapify(self._late)
            if told.token in run.engine_state.tokens or told.token in run.engine_state.flights:
                self._mail.append((run, stopped(question)))

    def _tell(self, run: Run, told: f.TellChild) -> None:
        child = run.children.get(told.child)
        if child is not None:
            self._mail.append((child, _command(told)))
        elif told.what == "cancel":
            self._mail.append((run, c.EndChild(told.child, "cancelled")))
        elif told.what == "compensate":
            self._mail.append((run, c.ChildCompensated(told.child)))

    # -- letting it go on

    def work(self) -> None:
        """Until nothing can be answered now."""
        for _ in range(STEPS):
            if self._mail:
                run, command = self._mail.popleft()
                with suppress(DomainError):  # such as a child that has ended meanwhile
                    run.send(command)
            elif self._open:
                self._answer_one()
            else:
                return
        raise RunEndless(steps=STEPS)

    def pass_time(self, until: Instant) -> None:
        """Each timer fires, and each answer comes, at its own moment."""
        self.work()
        while (due := self.next_moment()) is not None and due <= until:
            self.move_on()
        self.now = Instant(max(self.now, until))

    def next_moment(self) -> Instant | None:
        timers = [timer.due for run in self.runs for timer in run.engine_state.timers.values()]
        return min([*timers, *(found[0] for found in self._late[:1])], default=None)

    def move_on(self) -> None:
        """To the next moment at which anything happens by itself."""
        due = self.next_moment()
        if due is None:
            return
        self.now = Instant(max(self.now, due))
        if self._late and self._late[0][0] == due:
            _, _, run, question, answer = heappop(self._late)
            if is_open(run.engine_state, question):
                self._give(run, question, answer)
        else:
            run, name = next(
                (run, name) for run in self.runs for name, timer in run.engine_state.timers.items() if timer.due == due
            )
            run.send(c.FireTimer(name))
        self.work()

    def _answer_one(self) -> None:
        index = self.runs[0].script.pick(len(self._open))
        run, question = self._open.pop(index)
        try:
            self._answer(run, question)
        except ScriptError:
            self._open.insert(index, (run, question))  # it can be scripted, and go on
            raise

    def _answer(self, run: Run, question: Question) -> None:
        if not is_open(run.engine_state, question):
            return
        ask = ask_of(run.program, run.engine_state, question)
        if isinstance(question, f.StartChild) and not run.script.has("child", ask.node):
            child = run.registered(question)
            if child is not None:
                run.start_child(child, question)
                return
        self._give(run, question, run.script.answer(ask, run.program))

    def _give(self, run: Run, question: Question, answer: Answer) -> None:
        if not isinstance(answer, Later | Never):
            run.send(reply(question, answer, next(self._serial)))
            return
        begins = begun(question)
        if begins is not None:
            run.send(begins)
        if isinstance(answer, Later):
            due = Instant(self.now + answer.microseconds)
            heappush(self._late, (due, next(self._serial), run, question, answer.answer))


def _command(told: f.TellChild) -> c.Command:
    match told.what:
        case "cancel":
            return c.Cancel(told.reason)
        case "pause":
            return c.Pause()
        case "resume":
            return c.Resume()
        case "compensate":
            return c.Compensate(told.reason or "manual", by="parent")
