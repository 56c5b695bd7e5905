"""Dead letters: messages that nobody could deal with, kept with their cause until someone looks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Protocol

import msgspec

from penstock.core.model.time import Instant


class DeadLetter(msgspec.Struct, frozen=True):
    """`id` names the message it was, so that burying it twice is burying it once."""

    tenant: str
    queue: str
    id: str
    cause: str
    body: bytes
    at: Instant
    deliveries: int = 0
    headers: Mapping[str, str] = {}


class DeadLetters(Protocol):
    async def bury(self, letter: DeadLetter) -> None: ...

    async def load(self, tenant: str, queue: str, letter: str) -> DeadLetter | None: ...

    def list(self, tenant: str, queue: str | None = None) -> AsyncIterator[DeadLetter]:
        """In the order they died."""
        ...

    async def drop(self, tenant: str, queue: str, letter: str) -> bool:
        """Forget it; False if it was not there."""
        ...
