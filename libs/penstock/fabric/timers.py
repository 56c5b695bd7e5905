"""An owner's timers.

    arm ──▶ in memory ──due──▶ fired here                     (most: cancelled within milliseconds, no write)
                │
                └─lived 5 s──▶ promoted to a schedule ──due──▶ fired by the server, to whoever owns the shard

A promoted timer leaves no trace in memory. One may fire twice, or after it was cancelled: the run knows its
timers by id and accepts each once. None fires early: a schedule left over from before a timer was set anew is
told apart by `supersedes`.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
from collections.abc import Callable
from typing import NamedTuple

from penstock.core.model.commit import RunKey
from penstock.core.model.time import SECOND, Instant
from penstock.fabric.errors import FabricError
from penstock.fabric.ports.schedules import Schedules, Timer

_RETRY = 1.0


class _Alarm(NamedTuple):
    when: int
    serial: int
    timer: Timer


class Timers:
    """`fire` is called when a timer is due; `settle` when one needs no more care (fired, promoted, cancelled)."""

    def __init__(
        self,
        schedules: Schedules,
        clock: Callable[[], Instant],
        *,
        fire: Callable[[Timer], None],
        settle: Callable[[Timer], None],
        promote_after: float,
    ) -> None:
        self._schedules = schedules
        self._clock = clock
        self._fire = fire
        self._settle = settle
        self._promote_after = int(promote_after * SECOND)
        self._alarms: list[_Alarm] = []
        self._armed: dict[tuple[RunKey, str], _Alarm] = {}
        self._serial = 0
        self._wake: asyncio.TimerHandle | None = None
        self._promotions: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._armed)

    def arm(self, timer: Timer) -> None:
        """Set it, or set it anew."""
        self._serial += 1
        alarm = _Alarm(min(timer.due, self._clock() + self._promote_after), self._serial, timer)
        self._armed[timer.key, timer.id] = alarm
        heapq.heappush(self._alarms, alarm)
        if self._alarms[0] is alarm:
            self._sleep()

    async def cancel(self, key: RunKey, timer: str) -> None:
        """Forget it, here or on the server."""
        alarm = self._armed.pop((key, timer), None)
        if alarm is None:
            await self._schedules.clear(key, timer)
        else:
            self._settle(alarm.timer)

    def supersedes(self, fired: Timer) -> bool:
        """A schedule fired that was set anew here since: its time is not come, and it must be ignored."""
        alarm = self._armed.get((fired.key, fired.id))
        return alarm is not None and alarm.timer.due > fired.due

    async def close(self) -> None:
        """Forget everything in memory: the next owner reads it from the log."""
        if self._wake is not None:
            self._wake.cancel()
        self._armed.clear()
        self._alarms.clear()
        for task in tuple(self._promotions):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def _sleep(self) -> None:
        if self._wake is not None:
            self._wake.cancel()
            self._wake = None
        if self._alarms:
            delay = max(0, self._alarms[0].when - self._clock()) / SECOND
            self._wake = asyncio.get_running_loop().call_later(delay, self._ring)

    def _ring(self) -> None:
        now = self._clock()
        while self._alarms and self._alarms[0].when <= now:
            alarm = heapq.heappop(self._alarms)
            timer = alarm.timer
            if self._armed.get((timer.key, timer.id)) is not alarm:
                continue  # cancelled, or set anew
            if timer.due <= now:
                del self._armed[timer.key, timer.id]
                self._fire(timer)
                self._settle(timer)
            else:
                self._promote(alarm)
        self._sleep()

    def _promote(self, alarm: _Alarm) -> None:
        task = asyncio.create_task(self._hand_over(alarm), name=f"promote {alarm.timer.id}")
        self._promotions.add(task)
        task.add_done_callback(self._promotions.discard)

    async def _hand_over(self, alarm: _Alarm) -> None:
        """It stays armed until the server has it, so that a cancellation meanwhile is seen by one of the two."""
        timer = alarm.timer
        name = (timer.key, timer.id)
        while self._armed.get(name) is alarm:
            try:
                await self._schedules.set(timer)
            except FabricError:
                await asyncio.sleep(_RETRY)
                continue
            if self._armed.get(name) is alarm:
                del self._armed[name]
                self._settle(timer)
            elif name not in self._armed:  # cancelled while it went out
                with contextlib.suppress(FabricError):
                    await self._schedules.clear(*name)
            return
