"""What a contract suite runs on: one set of ports, in memory, on a single server, or on a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from penstock.core.model.commit import RunKey
from penstock.core.model.time import Instant
from penstock.fabric.jetstream.blobs import JetStreamBlobs
from penstock.fabric.jetstream.commands import JetStreamCommands
from penstock.fabric.jetstream.connection import Connection
from penstock.fabric.jetstream.deadletters import JetStreamDeadLetters
from penstock.fabric.jetstream.log import JetStreamLog
from penstock.fabric.jetstream.owners import JetStreamOwners
from penstock.fabric.jetstream.schedules import JetStreamSchedules
from penstock.fabric.jetstream.snapshots import JetStreamSnapshots
from penstock.fabric.jetstream.tasks import JetStreamTasks
from penstock.fabric.naming import Names
from penstock.fabric.ports.commands import Commands
from penstock.fabric.ports.deadletters import DeadLetters
from penstock.fabric.ports.log import Log
from penstock.fabric.ports.owners import Owners
from penstock.fabric.ports.schedules import Schedules
from penstock.fabric.ports.snapshots import Snapshots
from penstock.fabric.ports.tasks import Tasks
from penstock.kit import clock
from penstock.kit.config import BlobsConfig, FabricConfig
from penstock.kit.ids import new_id
from penstock.testkit.clock import VirtualClock
from penstock.testkit.memory.commands import MemoryCommands
from penstock.testkit.memory.deadletters import MemoryDeadLetters
from penstock.testkit.memory.log import MemoryLog
from penstock.testkit.memory.owners import MemoryOwners
from penstock.testkit.memory.schedules import MemorySchedules
from penstock.testkit.memory.snapshots import MemorySnapshots
from penstock.testkit.memory.tasks import MemoryTasks


class Rig(NamedTuple):
    names: Names
    config: FabricConfig
    log: Log
    snapshots: Snapshots
    commands: Commands
    tasks: Tasks
    owners: Owners
    schedules: Schedules
    dead_letters: DeadLetters
    now: Callable[[], Instant]
    monotonic: Callable[[], float]
    pass_time: Callable[[float], Awaitable[None]]
    connection: Connection | None = None

    def run_in(self, shard: int) -> RunKey:
        """A fresh run that lives in that shard."""
        while True:
            key = RunKey("acme", new_id())
            if self.names.shard(key) == shard:
                return key


def memory_rig(config: FabricConfig) -> Rig:
    names, time = Names(config.prefix, config.shards), VirtualClock(clock.now())
    commands, schedules = MemoryCommands(names, time), MemorySchedules(names, time)
    letters = MemoryDeadLetters(names)

    async def pass_time(seconds: float) -> None:
        time.advance(seconds)
        await asyncio.sleep(0)

    return Rig(
        names=names,
        config=config,
        log=MemoryLog(names),
        snapshots=MemorySnapshots(),
        commands=commands,
        tasks=MemoryTasks(names, time, config, letters),
        owners=MemoryOwners(time, commands, schedules),
        schedules=schedules,
        dead_letters=letters,
        now=time.now,
        monotonic=time.monotonic,
        pass_time=pass_time,
    )


def jetstream_rig(connection: Connection, config: FabricConfig) -> Rig:
    blobs = JetStreamBlobs(connection, BlobsConfig())
    return Rig(
        names=connection.names,
        config=config,
        log=JetStreamLog(connection, blobs, commit_max=config.commit_max),
        snapshots=JetStreamSnapshots(connection, blobs, inline_max=config.commit_max),
        commands=JetStreamCommands(connection),
        tasks=JetStreamTasks(connection, config),
        owners=JetStreamOwners(connection),
        schedules=JetStreamSchedules(connection),
        dead_letters=JetStreamDeadLetters(connection),
        now=clock.now,
        monotonic=asyncio.get_running_loop().time,
        pass_time=asyncio.sleep,  # on real servers only real time passes
        connection=connection,
    )
