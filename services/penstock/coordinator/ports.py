"""Everything that a coordinator reaches of the outside, in one hand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple, Self

from penstock.coordinator.definitions import Definitions
from penstock.coordinator.memos import Memos
from penstock.fabric.jetstream.blob_stream import StreamBlobs
from penstock.fabric.jetstream.blobs import BlobStore, JetStreamBlobs
from penstock.fabric.jetstream.bucket import Bucket
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
from penstock.kit.config import Config

Tell = Callable[[str, bytes], Awaitable[None]]
"""Publish to whoever listens."""


class Ports(NamedTuple):
    names: Names
    log: Log
    snapshots: Snapshots
    commands: Commands
    tasks: Tasks
    schedules: Schedules
    dead_letters: DeadLetters
    owners: Owners
    small_blobs: BlobStore
    """What decisions may read into: what fits one message."""
    definitions: Definitions
    memos: Memos
    tell: Tell

    @classmethod
    def over(cls, connection: Connection, config: Config) -> Self:
        fabric, names = config.fabric, connection.names
        blobs = JetStreamBlobs(connection, config.blobs)
        return cls(
            names=names,
            log=JetStreamLog(connection, blobs, commit_max=fabric.commit_max),
            snapshots=JetStreamSnapshots(connection, blobs, inline_max=fabric.commit_max),
            commands=JetStreamCommands(connection),
            tasks=JetStreamTasks(connection, fabric),
            schedules=JetStreamSchedules(connection),
            dead_letters=JetStreamDeadLetters(connection),
            owners=JetStreamOwners(connection),
            small_blobs=StreamBlobs(connection),
            definitions=Definitions(Bucket(connection, names.definitions)),
            memos=Memos(Bucket(connection, names.snapshots)),
            tell=connection.tell,
        )
