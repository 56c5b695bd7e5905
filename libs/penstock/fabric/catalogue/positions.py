"""Which event is at which sequence: a bounded cache of facts that never change.

They save a question to the server: the position of the event before a new one is the new one's guard, and the
position of the event a snapshot was taken at is where its tail begins.
"""

from __future__ import annotations

_LIMIT = 10_000


class Positions:
    def __init__(self) -> None:
        self._known: dict[tuple[str, int], int] = {}

    def remember(self, subject: str, version: int, sequence: int) -> None:
        known = self._known
        self.forget(subject, version)
        known[subject, version] = sequence
        if len(known) > _LIMIT:
            del known[next(iter(known))]

    def forget(self, subject: str, version: int) -> None:
        self._known.pop((subject, version), None)

    def find(self, subject: str, version: int) -> int | None:
        return self._known.get((subject, version))
