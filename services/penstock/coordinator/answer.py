"""What the loop asks for, and how it is answered: each question is one coroutine that gives one input."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, TypeAlias

from penstock.coordinator import facts
from penstock.coordinator.ports import Ports
from penstock.coordinator.publish import Publisher
from penstock.core.model.time import Instant
from penstock.core.turn import inputs as i
from penstock.core.turn import outputs as o
from penstock.fabric.errors import LogConflict
from penstock.fabric.ports.log import Append
from penstock.fabric.ports.snapshots import load_history

Question: TypeAlias = o.LoadRun | o.FetchFacts | o.ConfirmLast | o.AppendCommit | o.PublishEffects


class Answers:
    def __init__(
        self, ports: Ports, publisher: Publisher, clock: Callable[[], Instant], is_current: Callable[[], bool]
    ) -> None:
        self._ports = ports
        self._publisher = publisher
        self._clock = clock
        self._is_current = is_current

    def to(self, asked: Question) -> Awaitable[i.Input]:
        return self._BY_TYPE[type(asked)](self, asked)

    async def _load(self, asked: o.LoadRun) -> i.Input:
        if asked.whole:
            return i.Loaded(asked.ticket, await self._ports.log.read(asked.key))
        history = await load_history(self._ports.log, self._ports.snapshots, asked.key)
        return i.Loaded(asked.ticket, history.commits, history.snapshot)

    async def _fetch(self, asked: o.FetchFacts) -> i.Input:
        return i.Fetched(asked.ticket, await facts.fetch(self._ports, asked.key.tenant, asked.need))

    async def _confirm(self, asked: o.ConfirmLast) -> i.Input:
        last = await self._ports.log.last(asked.key)
        return i.LastRead(asked.ticket, 0 if last is None else last.sequence, self._clock())

    async def _append(self, asked: o.AppendCommit) -> i.Input:
        append = Append(asked.key, asked.id, asked.head, asked.at, asked.events, asked.causes, asked.open, asked.due)
        try:
            head = await self._ports.log.append(append)
        except LogConflict:
            return i.Conflicted(asked.ticket, self._clock())
        return i.Appended(asked.ticket, head, self._clock())

    async def _publish(self, asked: o.PublishEffects) -> i.Input:
        if self._clock() > asked.before or not self._is_current():
            return i.Doubtful()
        await self._publisher.publish((asked.key, asked.ticket), asked.effects)
        return i.Published(asked.ticket)

    _BY_TYPE: ClassVar[dict[type[Any], Callable[[Any, Any], Awaitable[i.Input]]]] = {
        o.LoadRun: _load,
        o.FetchFacts: _fetch,
        o.ConfirmLast: _confirm,
        o.AppendCommit: _append,
        o.PublishEffects: _publish,
    }
