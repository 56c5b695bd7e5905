"""Topology: the streams and buckets an installation is made of, and how they differ from what is declared."""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec


class Drift(msgspec.Struct, frozen=True):
    """One setting of a stream that is not what this version declares."""

    field: str
    declared: str
    actual: str


class StreamReport(msgspec.Struct, frozen=True):
    """A declared stream or bucket as the server has it; all counts are zero while it is missing."""

    name: str
    kind: Literal["stream", "bucket"]
    subjects: list[str]
    replicas: int
    retention: str
    messages: int
    bytes: int
    drift: list[Drift]
    missing: bool


class Topology(Protocol):
    async def ensure(self) -> list[str]:
        """Create or upgrade what is declared; the names of what was changed."""
        ...

    async def describe(self) -> list[StreamReport]: ...
