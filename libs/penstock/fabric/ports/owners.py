"""Owners: which coordinators live, which shard belongs to whom, and the fence that keeps a former owner out."""

from __future__ import annotations

from typing import Protocol

import msgspec

from penstock.fabric.ports.delivery import Inbox


class Member(msgspec.Struct, frozen=True):
    """A living coordinator. One that was started again under the same name is another incarnation."""

    name: str
    incarnation: str


class Tenure(msgspec.Struct, frozen=True):
    """Who owns a shard, since which epoch. `owner` is None once given up; the epoch only ever grows."""

    owner: Member | None
    epoch: int
    revision: int = 0


VACANT = Tenure(None, 0)


class Inboxes(msgspec.Struct, frozen=True):
    """What an owner, and nobody else, may take from a shard."""

    commands: Inbox
    fired: Inbox


class Owners(Protocol):
    async def announce(self, member: Member, ttl: float) -> None:
        """Live on for another `ttl` seconds."""
        ...

    async def withdraw(self, member: Member) -> None: ...

    async def members(self) -> list[Member]: ...

    async def tenures(self) -> dict[int, Tenure]:
        """Shards that were ever owned."""
        ...

    async def claim(self, shard: int, tenure: Tenure) -> bool:
        """Write `tenure` over the one at its revision; False if that has changed."""
        ...

    async def fence(self, shard: int, epoch: int) -> Inboxes:
        """Shut out every earlier epoch and open the queues for this one; `LeaseLost` if a later one is there.

        What earlier owners took and did not acknowledge is delivered again, at once and in order.
        """
        ...

    async def load_mark(self, shard: int) -> int:
        """The low-water mark: every commit below this sequence has had its effects."""
        ...

    async def save_mark(self, shard: int, sequence: int) -> None:
        """Raise the mark; a lower one is ignored."""
        ...
