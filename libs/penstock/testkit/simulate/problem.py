"""What a simulation finds."""

from __future__ import annotations


class Problem(Exception):
    """Something that must never be. `kind` stays the same while a schedule is shrunk."""

    def __init__(self, kind: str, *details: str) -> None:
        super().__init__(kind, *details)
        self.kind, self.details = kind, details

    def __str__(self) -> str:
        return "\n  ".join((self.kind, *self.details))
