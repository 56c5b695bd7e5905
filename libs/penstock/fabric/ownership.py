"""Who owns which shard.

    announce ──▶ who lives? ──▶ whose should each shard be? ──▶ take what is mine and free
       ▲                              (rendezvous)              give up what is another's
       └────────────── every sixth of a lease ────────────────────────────┘

A coordinator lives while its announcement does; its shards are its own for as long. Owning is only about who
should work: what keeps a former owner from doing harm is the fence (its consumer is gone, its acks are inert)
and the log (its appends conflict). So a take-over is safe at any moment, and merely pointless too early.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable
from hashlib import sha256
from typing import Protocol

from penstock.fabric.errors import FabricError, LeaseLost
from penstock.fabric.ports.owners import VACANT, Inboxes, Member, Owners, Tenure

_BEATS = 6
"""Announcements per lease."""


class Holding:
    """A shard in our hands, until it is not."""

    def __init__(self, shard: int, epoch: int, inboxes: Inboxes) -> None:
        self.shard = shard
        self.epoch = epoch
        self.inboxes = inboxes
        self.lost = asyncio.Event()


class Listener(Protocol):
    async def gained(self, holding: Holding) -> None:
        """Start with an empty cache: what was known of the shard before may be old."""
        ...

    async def losing(self, holding: Holding) -> None:
        """Finish what is in hand. After this returns, the shard may be another's."""
        ...


class Ownership:
    def __init__(
        self,
        owners: Owners,
        member: Member,
        listener: Listener,
        *,
        shards: int,
        lease: float,
        clock: Callable[[], float],
    ) -> None:
        self._owners = owners
        self._member = member
        self._listener = listener
        self._shards = shards
        self._lease = lease
        self._clock = clock
        self._announced = float("-inf")
        self._held: dict[int, Holding] = {}

    @property
    def held(self) -> dict[int, Holding]:
        return dict(self._held)

    @property
    def announcement_ttl(self) -> float:
        """Less than the lease by what it takes others to notice."""
        return self._lease * 2 / 3

    def is_current(self) -> bool:
        """Nobody can have taken our shards for want of a sign of life."""
        return self._clock() - self._announced < self.announcement_ttl

    async def run(self) -> None:
        """Until cancelled; then give everything up."""
        try:
            async with asyncio.TaskGroup() as group:
                # Apart, because giving up a shard waits for what is in hand, and that must not look like death.
                group.create_task(self._every_beat(self.announce))
                group.create_task(self._every_beat(self.place))
        finally:
            await self.close()

    async def announce(self) -> None:
        """Show a sign of life."""
        before = self._clock()
        await self._owners.announce(self._member, self.announcement_ttl)
        self._announced = before

    async def place(self) -> None:
        """Put every shard where it belongs. One that cannot be placed does not hold up the others."""
        if not self.is_current():
            await self._forget(self._held.values())
            return
        living = await self._owners.members()
        tenures = await self._owners.tenures()
        errors: list[FabricError] = []
        for shard in range(self._shards):
            try:
                await self._place(shard, tenures.get(shard, VACANT), living)
            except FabricError as error:
                errors.append(error)
        if errors:
            raise errors[0]

    async def _every_beat(self, act: Callable[[], Awaitable[None]]) -> None:
        while True:
            with contextlib.suppress(FabricError):  # the server is away; what we hold lapses by itself
                await act()
            await asyncio.sleep(self._lease / _BEATS)

    async def close(self) -> None:
        """Give up every shard, so that others need not wait for the lease."""
        for holding in self.held.values():
            with contextlib.suppress(FabricError):
                await self._give_up(holding)
        with contextlib.suppress(FabricError):
            await self._owners.withdraw(self._member)

    async def _place(self, shard: int, tenure: Tenure, living: list[Member]) -> None:
        holding = self._held.get(shard)
        if holding is not None and (holding.lost.is_set() or tenure.epoch > holding.epoch):
            await self._forget([holding])
            holding = None
        mine = preferred(shard, living) == self._member
        if holding is not None and not mine:
            await self._give_up(holding)
        elif holding is None and mine and (tenure.owner not in living or tenure.owner == self._member):
            await self._take(shard, tenure)
        elif holding is None and not mine and tenure.owner == self._member:
            # Taking it or giving it up failed half-way: while we live, nobody else would take what bears our name.
            await self._vacate(shard, tenure)

    async def _take(self, shard: int, tenure: Tenure) -> None:
        epoch = tenure.epoch + 1
        if not await self._owners.claim(shard, Tenure(self._member, epoch, tenure.revision)):
            return
        try:
            inboxes = await self._owners.fence(shard, epoch)
        except LeaseLost:
            return
        holding = self._held[shard] = Holding(shard, epoch, inboxes)
        try:
            await self._listener.gained(holding)
        except BaseException:  # held, it would never be tried again
            self._held.pop(shard, None)
            await _end(holding)
            raise

    async def _give_up(self, holding: Holding) -> None:
        await self._forget([holding])
        tenure = (await self._owners.tenures()).get(holding.shard, VACANT)
        if tenure.epoch == holding.epoch:
            await self._vacate(holding.shard, tenure)

    async def _vacate(self, shard: int, tenure: Tenure) -> None:
        await self._owners.claim(shard, Tenure(None, tenure.epoch, tenure.revision))

    async def _forget(self, holdings: Iterable[Holding]) -> None:
        for holding in tuple(holdings):
            del self._held[holding.shard]
            try:
                await self._listener.losing(holding)
            finally:
                await _end(holding)


async def _end(holding: Holding) -> None:
    holding.lost.set()
    await holding.inboxes.commands.stop()
    await holding.inboxes.fired.stop()


def preferred(shard: int, living: list[Member]) -> Member | None:
    """Rendezvous hashing: each shard goes to the living member that scores highest for it, so that a member
    that comes or goes moves only its own share.
    """
    return max(living, key=lambda member: _score(shard, member), default=None)


def _score(shard: int, member: Member) -> tuple[bytes, str]:
    return sha256(f"{shard}:{member.name}".encode()).digest(), member.incarnation
