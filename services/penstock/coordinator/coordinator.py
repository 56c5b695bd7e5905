"""A driver for each shard that is ours, from the moment it is until it is another's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import structlog

from penstock.coordinator.driver import Driver
from penstock.coordinator.ports import Ports
from penstock.core.model.time import SECOND, Instant
from penstock.core.turn import Kind, Limits
from penstock.fabric.ownership import Holding, Ownership
from penstock.fabric.ports.owners import Member
from penstock.kit.config import FabricConfig

log = structlog.get_logger()


class Coordinator:
    """Listens to the ownership that it runs."""

    def __init__(
        self,
        ports: Ports,
        config: FabricConfig,
        member: Member,
        kinds: Mapping[str, Kind],
        *,
        clock: Callable[[], Instant],
        limits: Limits | None = None,
    ) -> None:
        self._ports = ports
        self._config = config
        self._kinds = kinds
        self._clock = clock
        self._limits = limits or Limits(lease=int(config.lease * SECOND))
        self._drivers: dict[Holding, Driver] = {}
        self.ownership = Ownership(
            ports.owners,
            member,
            self,
            shards=config.shards,
            lease=config.lease,
            clock=asyncio.get_running_loop().time,
        )

    async def run(self) -> None:
        """Until cancelled; then finish what is in hand, and give every shard up."""
        await self.ownership.run()

    async def gained(self, holding: Holding) -> None:
        mark = await self._ports.owners.load_mark(holding.shard)
        driver = Driver(
            holding,
            self._ports,
            self._kinds,
            limits=self._limits,
            promote_after=self._config.timer_promote_after,
            is_current=self.ownership.is_current,
            clock=self._clock,
        )
        self._drivers[holding] = driver
        driver.start(mark)
        log.info("shard.gained", step=f"shard {holding.shard}, epoch {holding.epoch}")

    async def losing(self, holding: Holding) -> None:
        await self._drivers.pop(holding).drain(self._config.lease)
        log.info("shard.given_up", step=f"shard {holding.shard}, epoch {holding.epoch}")

    async def kill(self) -> None:
        """Stop where it stands: nothing is finished, nothing is given up."""
        for driver in self._drivers.values():
            await driver.close()
