"""Names of subjects, streams and buckets, and which names users may choose.

A subject is split at dots and has wildcards; a user's id must not be able to reach into either. Ids may hold
dots (a child run is `<parent>.<token>.<attempt>`); in subjects they travel as `~`, which ids cannot hold.
"""

from __future__ import annotations

import re
from zlib import crc32

from penstock.core.model.commit import RunKey
from penstock.fabric.errors import IllegalName

LIMITS = {
    "tenant": 64,
    "queue": 128,
    "run id": 200,
    "task id": 200,
    "timer id": 128,
    "member": 128,
    "dead letter": 230,
    "counter": 256,
    "application": 64,
    "aggregate id": 200,
}
"""Consumers are named after (tenant, queue), and their names may have 255 characters."""

_ID = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")


def check_id(value: str, kind: str) -> str:
    limit = LIMITS[kind]
    if len(value) > limit or _ID.fullmatch(value) is None:
        raise IllegalName(value=value[: limit + 1], kind=kind, limit=limit)
    return value


def token(value: str, kind: str) -> str:
    """An id as one token of a subject."""
    return check_id(value, kind).replace(".", "~")


def untoken(subject_token: str) -> str:
    return subject_token.replace("~", ".")


class Names:
    """Every subject, stream and bucket of one installation."""

    def __init__(self, prefix: str, shards: int) -> None:
        self.prefix = prefix
        self.shards = shards
        upper = prefix.upper()
        self.tasks = f"{upper}_TASK"
        self.dead_letters = f"{upper}_DLQ"
        self.blobs = f"{upper}_BLOB"
        self.catalogue = f"{upper}_CAT"
        self.advisories = f"{upper}_ADVISORY"
        self.snapshots = f"{prefix}_snapshot"
        self.idempotency = f"{prefix}_idem"
        self.counters = f"{prefix}_counter"
        self.definitions = f"{prefix}_def"
        self.owners = f"{prefix}_owner"
        self._upper = upper

    def shard(self, key: RunKey) -> int:
        """CRC-32 of the run id: stable over versions and languages, spread evenly."""
        return crc32(key.run.encode()) % self.shards

    def log_stream(self, shard: int) -> str:
        return f"{self._upper}_LOG_{shard}"

    def command_stream(self, shard: int) -> str:
        return f"{self._upper}_CMD_{shard}"

    def timer_stream(self, shard: int) -> str:
        return f"{self._upper}_TIMER_{shard}"

    def log(self, key: RunKey) -> str:
        return self._of_run("log", key)

    def command(self, key: RunKey) -> str:
        return self._of_run("cmd", key)

    def result(self, key: RunKey) -> str:
        return self._of_run("res", key)

    def fired(self, key: RunKey) -> str:
        return self._of_run("fired", key)

    def timer(self, key: RunKey, timer: str) -> str:
        return f"{self._of_run('timer', key)}.{token(timer, 'timer id')}"

    def task(self, tenant: str, queue: str, task: str) -> str:
        return f"{self.queue(tenant, queue)}.{token(task, 'task id')}"

    def queue(self, tenant: str, queue: str) -> str:
        return f"{self.prefix}.task.{token(tenant, 'tenant')}.{token(queue, 'queue')}"

    def queue_consumer(self, tenant: str, queue: str) -> str:
        """`=` is in no id, so no two pairs share a name."""
        return f"q={token(tenant, 'tenant')}={token(queue, 'queue')}"

    def dead_letter(self, tenant: str, queue: str, letter: str) -> str:
        return f"{self.prefix}.dlq.{token(tenant, 'tenant')}.{token(queue, 'queue')}.{token(letter, 'dead letter')}"

    def blob(self, tenant: str, digest: str) -> str:
        return f"{self.prefix}.blob.{token(tenant, 'tenant')}.{digest}"

    def run_of(self, subject: str) -> RunKey:
        """The run that a log, command, result, timer or fired subject belongs to."""
        tokens = subject.split(".")
        return RunKey(untoken(tokens[3]), untoken(tokens[4]))

    def queue_of(self, subject: str) -> tuple[str, str, str]:
        """Tenant, queue and id of a task or dead letter subject."""
        tokens = subject.split(".")
        return untoken(tokens[2]), untoken(tokens[3]), untoken(tokens[4])

    def all_of(self, kind: str, shard: int) -> str:
        return f"{self.prefix}.{kind}.{shard}.>"

    def _of_run(self, kind: str, key: RunKey) -> str:
        tenant, run = token(key.tenant, "tenant"), token(key.run, "run id")
        return f"{self.prefix}.{kind}.{self.shard(key)}.{tenant}.{run}"
