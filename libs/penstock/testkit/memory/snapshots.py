"""Snapshots in memory."""

from __future__ import annotations

from penstock.core.model.commit import RunKey
from penstock.fabric.ports.snapshots import Snapshot


class MemorySnapshots:
    def __init__(self) -> None:
        self.saved: dict[RunKey, Snapshot] = {}

    async def save(self, key: RunKey, snapshot: Snapshot) -> None:
        self.saved[key] = snapshot

    async def load(self, key: RunKey) -> Snapshot | None:
        return self.saved.get(key)

    async def delete(self, key: RunKey) -> None:
        self.saved.pop(key, None)
