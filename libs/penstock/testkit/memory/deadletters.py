"""Dead letters in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator

from penstock.fabric.naming import Names
from penstock.fabric.ports.deadletters import DeadLetter


class MemoryDeadLetters:
    def __init__(self, names: Names) -> None:
        self._names = names
        self._letters: dict[str, DeadLetter] = {}

    async def bury(self, letter: DeadLetter) -> None:
        self.put(letter)

    def put(self, letter: DeadLetter) -> None:
        self._letters.setdefault(self._names.dead_letter(letter.tenant, letter.queue, letter.id), letter)

    async def load(self, tenant: str, queue: str, letter: str) -> DeadLetter | None:
        return self._letters.get(self._names.dead_letter(tenant, queue, letter))

    async def list(self, tenant: str, queue: str | None = None) -> AsyncIterator[DeadLetter]:
        for letter in tuple(self._letters.values()):
            if letter.tenant == tenant and queue in {None, letter.queue}:
                yield letter

    async def drop(self, tenant: str, queue: str, letter: str) -> bool:
        return self._letters.pop(self._names.dead_letter(tenant, queue, letter), None) is not None
