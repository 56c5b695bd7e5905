"""What an installation consists of: every stream and bucket, declared once, in the server's own words.

Sacred streams (log, commands, blobs, definitions, idempotency keys) refuse new messages when full rather than
drop old ones. Derived streams (tasks, timers) can be rebuilt from the log, and on a single server need not wait
for the disk.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from penstock.fabric.jetstream.consumers import NANOSECONDS
from penstock.fabric.naming import Names
from penstock.kit.config import FabricConfig

SHARDS = "penstock.shards"
"""Metadata of every stream: the number of shards it was installed with."""

Config = dict[str, Any]


class Declared(msgspec.Struct, frozen=True):
    kind: Literal["stream", "bucket"]
    config: Config

    @property
    def name(self) -> str:
        return str(self.config["name"])


def declare(config: FabricConfig, names: Names) -> list[Declared]:
    return [
        *(_log(config, names, shard) for shard in range(config.shards)),
        *(_commands(config, names, shard) for shard in range(config.shards)),
        *(_timers(config, names, shard) for shard in range(config.shards)),
        _tasks(config, names),
        _dead_letters(config, names),
        _advisories(config, names),
        _blobs(config, names),
        _catalogue(config, names),
        _bucket(config, names.snapshots, atomic=True),
        _bucket(config, names.definitions, discard="new"),
        _bucket(config, names.idempotency, discard="new", ttl=True),
        _bucket(config, names.owners, ttl=True),
        _counters(config, names),
    ]


def _log(config: FabricConfig, names: Names, shard: int) -> Declared:
    return _stream(
        config,
        names.log_stream(shard),
        [names.all_of("log", shard)],
        discard="new",
        allow_direct=True,
        deny_delete=True,
    )


def _commands(config: FabricConfig, names: Names, shard: int) -> Declared:
    return _stream(
        config,
        names.command_stream(shard),
        [names.all_of("cmd", shard), names.all_of("res", shard)],
        retention="workqueue",
        discard="new",
        allow_direct=True,
    )


def _timers(config: FabricConfig, names: Names, shard: int) -> Declared:
    # Schedules exclude discard=new, so this stream has no size limit either: nothing in it is ever dropped.
    return _stream(
        config,
        names.timer_stream(shard),
        [names.all_of("timer", shard), names.all_of("fired", shard)],
        retention="workqueue",
        allow_direct=True,
        allow_msg_schedules=True,
        allow_msg_ttl=True,
        allow_rollup_hdrs=True,
        **_derived(config),
    )


def _tasks(config: FabricConfig, names: Names) -> Declared:
    # One message per subject, new ones refused: a task that is queued or leased cannot be queued again.
    return _stream(
        config,
        names.tasks,
        [f"{names.prefix}.task.>"],
        retention="workqueue",
        discard="new",
        discard_new_per_subject=True,
        max_msgs_per_subject=1,
        allow_direct=True,
        **_derived(config),
    )


def _dead_letters(config: FabricConfig, names: Names) -> Declared:
    return _stream(config, names.dead_letters, [f"{names.prefix}.dlq.>"], discard="new", allow_direct=True)


def _advisories(config: FabricConfig, names: Names) -> Declared:
    # Published once, to whoever listens; kept here so that a message given up on is never forgotten.
    subjects = [
        f"$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.{names.tasks}.>",
        *(
            f"$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.{names.command_stream(shard)}.>"
            for shard in range(config.shards)
        ),
    ]
    return _stream(config, names.advisories, subjects, retention="workqueue")


def _blobs(config: FabricConfig, names: Names) -> Declared:
    return _stream(
        config,
        names.blobs,
        [f"{names.prefix}.blob.>"],
        discard="new",
        discard_new_per_subject=True,
        max_msgs_per_subject=1,
        allow_direct=True,
    )


def _catalogue(config: FabricConfig, names: Names) -> Declared:
    return _stream(
        config,
        names.catalogue,
        [f"{names.prefix}.cat.>"],
        discard="new",
        allow_direct=True,
        allow_atomic=True,
    )


def _bucket(
    config: FabricConfig, name: str, *, discard: str = "old", ttl: bool = False, atomic: bool = False
) -> Declared:
    stream = _stream(
        config,
        f"KV_{name}",
        [f"$KV.{name}.>"],
        discard=discard,
        max_msgs_per_subject=1,
        allow_direct=True,
        allow_rollup_hdrs=True,
        deny_delete=True,
        **({"allow_msg_ttl": True} if ttl else {}),
        **({"allow_atomic": True} if atomic else {}),
    )
    return msgspec.structs.replace(stream, kind="bucket")


def _counters(config: FabricConfig, names: Names) -> Declared:
    # The ids of increments live only as long as their messages, and a repeated increment must meet its id for
    # the whole window; older ones are purged by the counters themselves. So there is no limit per subject, but
    # key-value clients refuse a bucket that does not name one.
    stream = _stream(
        config,
        f"KV_{names.counters}",
        [f"$KV.{names.counters}.>"],
        max_msgs_per_subject=2**53,
        allow_direct=True,
        allow_msg_counter=True,
        duplicate_window=int(config.counter_window * NANOSECONDS),
    )
    return msgspec.structs.replace(stream, kind="bucket")


def _stream(config: FabricConfig, name: str, subjects: list[str], **settings: Any) -> Declared:  # noqa: ANN401 - JSON
    base: Config = {
        "name": name,
        "subjects": subjects,
        "retention": "limits",
        "discard": "old",
        "storage": "file",
        "num_replicas": config.replicas,
        "duplicate_window": int(config.dedupe_window * NANOSECONDS),
        "max_msgs_per_subject": -1,
        "metadata": {SHARDS: str(config.shards)},
    }
    return Declared("stream", base | settings)


def _derived(config: FabricConfig) -> Config:
    return {"persist_mode": "async" if config.derived_async and config.replicas == 1 else "default"}
