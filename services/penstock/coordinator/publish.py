"""Effects, carried out. Each is harmless to repeat: what it makes is named by the thing itself."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, ClassVar

import msgspec

from penstock.coordinator.ports import Ports
from penstock.core.graph.programs import DefinitionMissing
from penstock.core.model import commands as c
from penstock.core.model import effects as f
from penstock.core.model.commit import RunKey
from penstock.core.model.time import Instant
from penstock.core.turn.errors import fault_of
from penstock.fabric.errors import FabricError
from penstock.fabric.naming import token
from penstock.fabric.ports.deadletters import DeadLetter
from penstock.fabric.ports.schedules import Timer
from penstock.fabric.ports.tasks import Task
from penstock.fabric.timers import Timers
from penstock.wire.command import encode_command
from penstock.wire.task import attempt_id, encode_task, task_id

_AT_ONCE = 500
_json = msgspec.json.Encoder().encode

Turn = tuple[RunKey, int]
"""Whose effects they are, and the number of the turn: it names what may rightly be sent again in a later one."""


class Publisher:
    def __init__(self, ports: Ports, timers: Timers, clock: Callable[[], Instant]) -> None:
        self._ports = ports
        self._timers = timers
        self._clock = clock

    async def publish(self, turn: Turn, effects: Sequence[f.Effect]) -> None:
        """Try all of them; then raise what went wrong, first what may go right the next time."""
        key, _ = turn
        tasks: list[Task] = []
        others: list[Awaitable[None]] = []
        for effect in effects:
            kind = type(effect)
            if kind is f.DispatchTask:
                tasks.append(self._task(key, effect))  # type: ignore[arg-type]
            elif kind is f.ArmTimer:
                self._timers.arm(Timer(key, effect.timer, effect.due))  # type: ignore[attr-defined]
            elif kind is f.DropTimer:
                # In the order of the effects: it may be armed anew by the next one.
                await self._timers.cancel(key, effect.timer)  # type: ignore[attr-defined]
            else:
                others.append(self._OTHERS[kind](self, turn, effect))
        errors = [*await self._dispatch(tasks), *await _all(others)]
        if errors:
            raise next((error for error in errors if getattr(error, "retryable", False)), errors[0])

    # -- tasks

    def _task(self, key: RunKey, effect: f.DispatchTask) -> Task:
        body = encode_task(key.run, effect, self._ports.names.result(key), self._clock())
        name = attempt_id(task_id(key.run, effect.token, effect.purpose), effect.attempt)
        return Task(key.tenant, effect.queue, name, body)

    async def _dispatch(self, tasks: list[Task]) -> list[BaseException]:
        if len(tasks) <= 1:
            return await _all(self._queue(task) for task in tasks)
        errors: list[BaseException] = []
        for start in range(0, len(tasks), _AT_ONCE):
            outcomes = await self._ports.tasks.publish_many(tasks[start : start + _AT_ONCE])
            errors += [outcome for outcome in outcomes if isinstance(outcome, FabricError)]
        return errors

    async def _queue(self, task: Task) -> None:
        await self._ports.tasks.publish(task)

    async def _cancel_task(self, turn: Turn, effect: f.CancelTask) -> None:
        key, _ = turn
        name = attempt_id(task_id(key.run, effect.token), effect.attempt)
        await self._ports.tasks.purge(key.tenant, effect.queue, name)

    async def _keep_dead_letter(self, turn: Turn, effect: f.KeepDeadLetter) -> None:
        key, fault = turn[0], effect.fault
        task = task_id(key.run, effect.token)
        about = {"run_id": key.run, "task_id": task, "node": effect.node, "parked": effect.parked, "error": fault}
        await self._ports.dead_letters.bury(
            DeadLetter(
                tenant=key.tenant,
                queue=effect.queue,
                id=attempt_id(task, effect.attempt),
                cause=f"{fault.code}: {fault.message}",
                body=_json(about),
                at=self._clock(),
                deliveries=effect.attempt,
            )
        )

    # -- other runs

    async def _start_child(self, turn: Turn, effect: f.StartChild) -> None:
        key, _ = turn
        try:
            graph = await self._ports.definitions.find(key.tenant, effect.workflow, effect.version)
        except DefinitionMissing as error:
            # Nobody else will ever tell the parent.
            await self._send(key, f"{effect.child}.end", c.EndChild(effect.child, "failed", fault=fault_of(error)))
            return
        start = c.Start(
            workflow=effect.workflow,
            graph=graph,
            input=effect.input,
            seed=secrets.token_hex(16),
            run=effect.child,
            parent=key.run,
            depth=effect.depth,
            deadline=effect.deadline,
            artifacts=effect.artifacts,
        )
        await self._send(RunKey(key.tenant, effect.child), f"{effect.child}.start", start)

    async def _tell_child(self, turn: Turn, effect: f.TellChild) -> None:
        key, number = turn
        child = RunKey(key.tenant, effect.child)
        await self._send(child, f"{effect.child}.{effect.what}.{number}", _told(effect))

    async def _report_outcome(self, turn: Turn, effect: f.ReportOutcome) -> None:
        key, _ = turn
        outcome: Any = effect.outcome
        end = c.EndChild(key.run, outcome, effect.output, effect.fault)
        await self._send(RunKey(key.tenant, effect.parent), f"{key.run}.end", end)

    async def _report_compensation(self, turn: Turn, effect: f.ReportCompensation) -> None:
        key, _ = turn
        undone = c.ChildCompensated(key.run, effect.fault)
        await self._send(RunKey(key.tenant, effect.parent), f"{key.run}.compensated", undone)

    async def _continue(self, turn: Turn, _: f.ContinueRun) -> None:
        key, number = turn
        await self._send(key, f"{key.run}.continue.{number}", c.Continue())

    async def _send(self, to: RunKey, name: str, command: c.Command) -> None:
        await self._ports.commands.send(to, name, encode_command(command))

    # -- people, and what is left for later

    async def _approval(self, turn: Turn, effect: f.AskApproval | f.WithdrawApproval) -> None:
        """To whoever listens; who comes later finds it in the log."""
        key, _ = turn
        names = (token(key.tenant, "tenant"), effect.approval.replace(".", "~"))
        subject = ".".join((self._ports.names.prefix, "approval", *names))
        await self._ports.tell(subject, _json({"run_id": key.run, "effect": effect}))

    async def _save_memo(self, turn: Turn, effect: f.SaveMemo) -> None:
        await self._ports.memos.save(turn[0].tenant, effect)

    async def _commit_artifacts(self, _: Turn, __: f.CommitArtifacts) -> None:
        """They are in the log, by name and reference; nobody else keeps them yet."""

    _OTHERS: ClassVar[dict[type[f.Effect], Callable[[Any, Turn, Any], Awaitable[None]]]] = {
        f.CancelTask: _cancel_task,
        f.KeepDeadLetter: _keep_dead_letter,
        f.StartChild: _start_child,
        f.TellChild: _tell_child,
        f.ReportOutcome: _report_outcome,
        f.ReportCompensation: _report_compensation,
        f.ContinueRun: _continue,
        f.AskApproval: _approval,
        f.WithdrawApproval: _approval,
        f.SaveMemo: _save_memo,
        f.CommitArtifacts: _commit_artifacts,
    }


def _told(effect: f.TellChild) -> c.Command:
    if effect.what == "cancel":
        return c.Cancel(effect.reason)
    if effect.what == "compensate":
        return c.Compensate(effect.reason or "manual", by="parent")
    return c.Pause() if effect.what == "pause" else c.Resume()


async def _all(works: Iterable[Awaitable[None]]) -> list[BaseException]:
    """What went wrong, when none is under way any more."""
    begun = list(works)
    if len(begun) == 1:
        try:
            await begun[0]
        except Exception as error:  # noqa: BLE001 - the caller's to raise
            return [error]
        return []
    outcomes = await asyncio.gather(*begun, return_exceptions=True)
    return [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
