"""Drives the loop of one shard for one tenure: carries out what it puts out, and feeds back what comes of it.

    queues, timers ──▶ inputs ──▶ step ──▶ outputs ──▶ one task for each that is answered
                          ▲                                │
                          └──────────── answers ◀──────────┘

Everything that came in since the last step goes into the next one together. No run waits for another's I/O.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, ClassVar

import structlog

from penstock.coordinator.answer import Answers, Question
from penstock.coordinator.intake import Held, Intake
from penstock.coordinator.ports import Ports
from penstock.coordinator.publish import Publisher
from penstock.core.errors import PenstockError
from penstock.core.model.events import Fault
from penstock.core.model.time import SECOND, Instant
from penstock.core.turn import Kind, Limits, Shard
from penstock.core.turn import inputs as i
from penstock.core.turn import outputs as o
from penstock.core.turn.errors import fault_of
from penstock.fabric.errors import ConsumerGone, FabricError, Undecodable
from penstock.fabric.ownership import Holding
from penstock.fabric.ports.delivery import Inbox, Received
from penstock.fabric.ports.schedules import Timer, decode_fired
from penstock.fabric.ports.snapshots import Snapshot
from penstock.fabric.timers import Timers
from penstock.wire.reply import encode_reply

log = structlog.get_logger()

_BATCH = 256
_BUSY = 500
"""Runs with something in hand at which nothing more is taken in."""
_RETRY = 1.0
_MISADDRESSED = Fault("MISADDRESSED", "the subject is not the queue of any run of this shard")


class Driver:
    def __init__(
        self,
        holding: Holding,
        ports: Ports,
        kinds: Mapping[str, Kind],
        *,
        limits: Limits,
        promote_after: float,
        is_current: Callable[[], bool],
        clock: Callable[[], Instant],
    ) -> None:
        self._holding = holding
        self._ports = ports
        self._is_current = is_current
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._shard = Shard(kinds, limits)
        self._intake = Intake(ports.names)
        self._timers = Timers(
            ports.schedules, clock, fire=self._fire, settle=self._settle_timer, promote_after=promote_after
        )
        self._answers = Answers(ports, Publisher(ports, self._timers, clock), clock, is_current)
        self._inputs: list[i.Input] = []
        self._next: asyncio.Handle | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._pumps: list[asyncio.Task[None]] = []
        self._works: set[asyncio.Task[None]] = set()
        self._parting: list[o.Ack | o.Nak | o.Accepted | o.Refused] = []
        self._closed = False
        self._room = asyncio.Event()
        self._quiet = asyncio.Event()

    # -- its life

    def start(self, mark: int) -> None:
        self._feed(i.Gained(self._holding.epoch, mark))
        inboxes = self._holding.inboxes
        self._pumps = [
            asyncio.create_task(self._pump(inboxes.commands, self._take_command), name="commands"),
            asyncio.create_task(self._pump(inboxes.fired, self._take_fired), name="fired"),
        ]
        for pump in self._pumps:
            pump.add_done_callback(self._on_done)

    async def drain(self, grace: float) -> None:
        """Take in no more; finish what is in hand, unless the shard is lost already."""
        await _end(self._pumps)
        if not self._holding.lost.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace):
                    await self._quiet.wait()
        await self.close()

    async def close(self) -> None:
        """At once. What is in hand stays unacknowledged, for the next owner."""
        for handle in (self._next, self._alarm):
            if handle is not None:
                handle.cancel()
        self._closed = True
        await _end([*self._pumps, *self._works])
        await self._timers.close()

    def _abandon(self, _: o.Abandon | None = None) -> None:
        """Ownership takes it from here: it gives the shard up, and takes it again if it is still ours to take."""
        self._holding.lost.set()

    def _on_done(self, task: asyncio.Task[None]) -> None:
        self._works.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("driver.failed", step=task.get_name(), exc_info=error)
            self._abandon()
        self._look_quiet()

    # -- in

    async def _pump(self, inbox: Inbox, take: Callable[[Received], Awaitable[None]]) -> None:
        try:
            while messages := await inbox.take(_BATCH):
                for message in messages:
                    await take(message)
                await self._room.wait()
        except ConsumerGone:
            self._feed(i.Lost())
            self._abandon()

    async def _take_command(self, message: Received) -> None:
        given = self._intake.command(message)
        if isinstance(given, Held):
            self._work(self._keep(given, _MISADDRESSED), "bury")
        else:
            self._feed(given)

    async def _take_fired(self, message: Received) -> None:
        try:
            timer = decode_fired(message)
        except Undecodable:
            log.exception("timer.undecodable")
            await message.term()
            return
        if self._timers.supersedes(timer):
            await message.ack()
        else:
            self._feed(self._intake.timer(timer, message, message.deliveries))

    def _fire(self, timer: Timer, deliveries: int = 1) -> None:
        self._feed(self._intake.timer(timer, None, deliveries))

    def _settle_timer(self, timer: Timer) -> None:
        self._feed(i.TimerSettled(timer.key, timer.id))

    def _feed(self, given: i.Input) -> None:
        self._inputs.append(given)
        if self._next is None and not self._closed:
            self._next = self._loop.call_soon(self._step)

    # -- the step

    def _step(self) -> None:
        self._next = None
        given, self._inputs = self._inputs, []
        if not self._is_current():
            given = [i.Doubtful()]
        try:
            for output in self._shard.step(self._clock(), given):
                self._CARRY_OUT[type(output)](self, output)
        except Exception:  # a defect of ours: begin anew from the log
            log.exception("driver.failed", step="step")
            self._abandon()
            return
        if self._parting:
            parting, self._parting = self._parting, []
            self._work(self._part(parting), "part")
        self._set_alarm()
        if self._shard.busy < _BUSY:
            self._room.set()
        else:
            self._room.clear()
        self._look_quiet()

    def _set_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        due = self._shard.due
        if due is not None and self._next is None:
            self._alarm = self._loop.call_later(max(0, due - self._clock()) / SECOND, self._step)

    def _look_quiet(self) -> None:
        if self._inputs or self._works or self._shard.busy:
            self._quiet.clear()
        else:
            self._quiet.set()

    # -- out, answered

    def _ask(self, asked: Question) -> None:
        self._work(self._answer(asked), "answer")

    async def _answer(self, asked: Question) -> None:
        try:
            given = await self._answers.to(asked)
        except PenstockError as error:
            given = i.Failed(asked.ticket, fault_of(error))
        except Exception as error:
            log.exception("driver.defect")
            given = i.Failed(asked.ticket, Fault("INTERNAL", repr(error)))
        self._feed(given)

    def _scan(self, asked: o.Scan) -> None:
        self._work(self._scanned(asked), "scan")

    async def _scanned(self, asked: o.Scan) -> None:
        while True:
            try:
                found = set()
                async for summary in self._ports.log.scan(self._holding.shard, max(1, asked.sequence)):
                    if summary.key not in found:
                        found.add(summary.key)
                        self._feed(i.Heal(summary.key))
                        await self._room.wait()
                break
            except FabricError as error:
                log.warning("scan.failed", exc_info=error)
            await asyncio.sleep(_RETRY)
        self._feed(i.Scanned(asked.ticket))

    # -- out, not answered

    def _part_with(self, output: o.Ack | o.Nak | o.Accepted | o.Refused) -> None:
        self._parting.append(output)

    async def _part(self, outputs: list[o.Ack | o.Nak | o.Accepted | o.Refused]) -> None:
        """In order: nobody is told of a command before that is acknowledged."""
        for output in outputs:
            with contextlib.suppress(FabricError):  # it comes again, and is known
                if isinstance(output, o.Ack):
                    message = self._intake.release(output.delivery).message
                    if message is not None:
                        await message.ack()
                elif isinstance(output, o.Nak):
                    await self._hand_back(self._intake.release(output.delivery), output.delay / SECOND)
                else:
                    await self._ports.tell(output.reply, encode_reply(output))

    async def _hand_back(self, held: Held, delay: float) -> None:
        if held.message is not None:
            await held.message.nak(delay)
        elif held.timer is not None:
            self._loop.call_later(delay, self._fire, held.timer, held.deliveries + 1)

    def _bury(self, output: o.Bury) -> None:
        self._work(self._keep(self._intake.release(output.delivery), output.fault), "bury")

    async def _keep(self, held: Held, cause: Fault) -> None:
        try:
            await self._ports.dead_letters.bury(held.letter(cause, self._clock()))
            if held.message is not None:
                await held.message.ack()
        except FabricError:
            log.exception("deadletter.failed")
            with contextlib.suppress(FabricError):
                await self._hand_back(held, _RETRY)

    def _raise_incident(self, output: o.RaiseIncident) -> None:
        where = f"run {output.key.run} of tenant {output.key.tenant}"
        log.error("run.incident", code=output.fault.code, reason=f"{where}: {output.fault.message}")

    def _save_snapshot(self, output: o.SaveSnapshot) -> None:
        self._work(self._try(self._ports.snapshots.save(output.key, Snapshot(output.head, output.state))), "snapshot")

    def _save_mark(self, output: o.SaveMark) -> None:
        self._work(self._try(self._saved_mark(output)), "mark")

    async def _saved_mark(self, output: o.SaveMark) -> None:
        """A former owner's may be too high: it knows nothing of what its successor has under way."""
        shard = self._holding.shard
        tenure = (await self._ports.owners.tenures()).get(shard)
        if tenure is not None and tenure.epoch == output.epoch and self._is_current():
            await self._ports.owners.save_mark(shard, output.sequence)

    async def _try(self, saving: Awaitable[None]) -> None:
        with contextlib.suppress(FabricError):  # an older one is safe
            await saving

    def _work(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = self._loop.create_task(work, name=name)
        self._works.add(task)
        task.add_done_callback(self._on_done)

    _CARRY_OUT: ClassVar[dict[type[Any], Callable[[Any, Any], None]]] = {
        **dict.fromkeys((o.LoadRun, o.FetchFacts, o.ConfirmLast, o.AppendCommit, o.PublishEffects), _ask),
        o.Scan: _scan,
        o.Bury: _bury,
        o.RaiseIncident: _raise_incident,
        o.SaveSnapshot: _save_snapshot,
        o.SaveMark: _save_mark,
        o.Abandon: _abandon,
        **dict.fromkeys((o.Ack, o.Nak, o.Accepted, o.Refused), _part_with),
    }


async def _end(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
