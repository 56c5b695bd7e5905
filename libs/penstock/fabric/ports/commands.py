"""Commands: what deciders are asked, queued per shard and taken in order by the shard's owner."""

from __future__ import annotations

from typing import Protocol

from penstock.core.model.commit import RunKey


class Commands(Protocol):
    async def send(self, key: RunKey, command: str, body: bytes) -> None:
        """Queue a command. Sending the same id again within the dedupe window is the same command."""
        ...

    async def send_result(self, key: RunKey, result: str, body: bytes) -> None:
        """Queue a worker's result: the only thing a worker may send."""
        ...
