"""Snapshots: a run's state at a commit, so that only the commits after it need to be read."""

from __future__ import annotations

from typing import Protocol

import msgspec

from penstock.core.model.commit import EMPTY, Head, RunKey
from penstock.fabric.errors import LogBroken
from penstock.fabric.ports.log import Log, Logged


class Snapshot(msgspec.Struct, frozen=True, array_like=True):
    head: Head
    state: bytes


class Snapshots(Protocol):
    async def save(self, key: RunKey, snapshot: Snapshot) -> None: ...

    async def load(self, key: RunKey) -> Snapshot | None:
        """The last one saved; None if there is none that can be read."""
        ...

    async def delete(self, key: RunKey) -> None: ...


class History(msgspec.Struct, frozen=True):
    """What a run is rebuilt from: perhaps a snapshot, and the commits after it."""

    snapshot: Snapshot | None
    commits: list[Logged]

    @property
    def head(self) -> Head:
        if self.commits:
            return self.commits[-1].head
        return self.snapshot.head if self.snapshot else EMPTY


async def load_history(log: Log, snapshots: Snapshots, key: RunKey) -> History:
    """A snapshot that the log does not confirm is not used: the log alone is the truth."""
    snapshot = await snapshots.load(key)
    if snapshot is not None:
        try:
            return History(snapshot, await log.read(key, snapshot.head))
        except LogBroken:
            await snapshots.delete(key)
    return History(None, await log.read(key))
