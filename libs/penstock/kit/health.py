"""Liveness and readiness. A process is alive when its loop answers, and ready when it is serving and every
dependency answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Literal

import msgspec

from penstock.core.errors import PenstockError
from penstock.core.model.time import SECOND, Instant
from penstock.kit import clock, metrics

Check = Callable[[], Awaitable[str]]
"""Raises when the dependency is unusable; else says something about it."""

Phase = Literal["starting", "serving", "draining"]


class Dependency(msgspec.Struct, frozen=True):
    name: str
    ok: bool
    detail: str
    since: datetime
    """When `ok` last changed."""


class Readiness(msgspec.Struct, frozen=True):
    ready: bool
    phase: Phase
    dependencies: list[Dependency]


class _Registered(msgspec.Struct, frozen=True):
    check: Check
    timeout: float


class Health:
    def __init__(self, now: Callable[[], Instant] = clock.now) -> None:
        self.phase: Phase = "starting"
        self._now = now
        self._checks: dict[str, _Registered] = {}
        self._last: dict[str, Dependency] = {}

    def register(self, name: str, check: Check, timeout: float = 2.0) -> None:
        self._checks[name] = _Registered(check, timeout)

    async def readiness(self) -> Readiness:
        dependencies = await asyncio.gather(*(self._probe(name) for name in self._checks))
        ready = self.phase == "serving" and all(dependency.ok for dependency in dependencies)
        metrics.ready.set(ready)
        return Readiness(ready, self.phase, dependencies)

    async def _probe(self, name: str) -> Dependency:
        registered = self._checks[name]
        ok, detail = False, f"no answer within {registered.timeout:g} s"
        try:
            async with asyncio.timeout(registered.timeout):
                ok, detail = True, await registered.check()
        except TimeoutError:
            pass
        except PenstockError as error:
            detail = str(error)
        except Exception as error:  # noqa: BLE001 - a check may fail in any way, the report must not
            detail = type(error).__name__
        before = self._last.get(name)
        since = datetime.fromtimestamp(self._now() / SECOND, UTC)
        if before is not None and before.ok == ok:
            since = before.since
        self._last[name] = dependency = Dependency(name, ok, detail, since)
        metrics.dependency_up.labels(name).set(ok)
        return dependency
