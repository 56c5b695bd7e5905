"""The fabric beside bare nats-py: the same bytes and headers, in the same run, turn by turn.

Each figure is the median over rounds in which ours and the bare one alternate, because absolute numbers wander
on shared machines.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import uvloop
from nats.js.api import AckPolicy, RetentionPolicy
from nats.js.client import JetStreamContext

from bench.report import middle, report
from penstock.core.model.commit import EMPTY, Cause, Head, RunKey
from penstock.core.model.time import Instant
from penstock.embedded.nats import Durability, NatsServer
from penstock.fabric.jetstream.blobs import JetStreamBlobs
from penstock.fabric.jetstream.connection import Connection
from penstock.fabric.jetstream.delivery import ack_all
from penstock.fabric.jetstream.log import JetStreamLog
from penstock.fabric.jetstream.pull import Pull
from penstock.fabric.jetstream.topology import JetStreamTopology
from penstock.fabric.naming import Names
from penstock.fabric.ports.blobs import BlobRef
from penstock.fabric.ports.log import Append
from penstock.kit.config import BlobsConfig, FabricConfig, NatsConfig
from penstock.kit.ids import new_id

ROUNDS = 7
EVENTS = (msgspec.Raw(msgspec.msgpack.encode({"type": "node.completed", "token": "t-17", "output": "x" * 120})),)
CAUSES = (Cause("c-1", "result", 1, msgspec.Raw(msgspec.msgpack.encode({"task": "t-17", "attempt": 1}))),)

Timed = Callable[[], Awaitable[float]]


class Bench:
    def __init__(self, connection: Connection, config: FabricConfig, durability: Durability) -> None:
        self.connection = connection
        self.names = connection.names
        self.js: JetStreamContext = connection.client.jetstream(publish_async_max_pending=100_000)
        self.blobs = JetStreamBlobs(connection, BlobsConfig())
        self.log = JetStreamLog(connection, self.blobs, commit_max=config.commit_max)
        self.durability = durability

    async def beside(self, name: str, unit: str, ours: Timed, bare: Timed, target: float, *, at_least: bool) -> bool:
        await ours()
        await bare()
        pairs = [(await ours(), await bare()) for _ in range(ROUNDS)]
        value, base = middle([mine for mine, _ in pairs]), middle([other for _, other in pairs])
        return report(name, value, unit, target=target, at_least=at_least, bare=base, durability=self.durability)

    # -- log

    def commit(self, key: RunKey, head: Head = EMPTY) -> Append:
        return Append(key, new_id(), head, Instant(1_700_000_000_000_000), EVENTS, CAUSES)

    def bare_message(self, key: RunKey, sequence: int) -> tuple[str, bytes, dict[str, str]]:
        append = self.commit(key)
        body, _ = append.encode()
        headers = {
            "Nats-Expected-Last-Subject-Sequence": str(sequence),
            "Ps-Commit": append.id,
            "Ps-Open": "1",
        }
        return self.names.log(key), body, headers

    async def append_sequential(self, count: int) -> float:
        """Microseconds each."""
        key, head = RunKey("bench", new_id()), EMPTY
        start = time.perf_counter()
        for _ in range(count):
            head = await self.log.append(self.commit(key, head))
        return (time.perf_counter() - start) / count * 1e6

    async def bare_sequential(self, count: int) -> float:
        key, sequence = RunKey("bench", new_id()), 0
        start = time.perf_counter()
        for _ in range(count):
            subject, body, headers = self.bare_message(key, sequence)
            sequence = (await self.js.publish(subject, body, headers=headers)).seq
        return (time.perf_counter() - start) / count * 1e6

    async def append_pipelined(self, count: int, window: int = 500) -> float:
        """Commits a second, a window of runs at a time, as the coordinator does it."""
        appends = [self.commit(RunKey("bench", new_id())) for _ in range(count)]
        start = time.perf_counter()
        for first in range(0, count, window):
            heads = await self.log.append_many(appends[first : first + window])
            assert all(isinstance(head, Head) for head in heads)
        return count / (time.perf_counter() - start)

    async def bare_pipelined(self, count: int, window: int = 500) -> float:
        messages = [self.bare_message(RunKey("bench", new_id()), 0) for _ in range(count)]
        start = time.perf_counter()
        for first in range(0, count, window):
            batch = messages[first : first + window]
            futures = [await self.js.publish_async(subject, body, headers=headers) for subject, body, headers in batch]
            await asyncio.gather(*futures)
        return count / (time.perf_counter() - start)

    async def read_back(self, key: RunKey, commits: int) -> float:
        start = time.perf_counter()
        found = await self.log.read(key)
        assert len(found) == commits
        return commits / (time.perf_counter() - start)

    async def bare_read(self, key: RunKey, commits: int) -> float:
        """The same messages through nats-py's ordered consumer, undecoded and unchecked."""
        start = time.perf_counter()
        subscription = await self.js.subscribe(self.names.log(key), ordered_consumer=True)
        for _ in range(commits):
            await subscription.next_msg()
        elapsed = time.perf_counter() - start
        await subscription.unsubscribe()
        return commits / elapsed

    async def long_run(self, commits: int) -> RunKey:
        key, head = RunKey("bench", new_id()), EMPTY
        for _ in range(commits):
            head = await self.log.append(self.commit(key, head))
        return key

    # -- pull

    async def fill_queue(self, name: str, count: int) -> None:
        await self.js.add_stream(name=name, subjects=[f"{name}.>"], retention=RetentionPolicy.WORK_QUEUE)
        await self.js.add_consumer(
            name, durable_name="c", ack_policy=AckPolicy.EXPLICIT, max_ack_pending=100_000, ack_wait=60
        )
        body, headers = b"x" * 200, {"Ps-Command": "c-1"}
        for _ in range(0, count, 500):
            await asyncio.gather(*[await self.js.publish_async(f"{name}.a", body, headers=headers) for _ in range(500)])

    async def pull_and_ack(self, count: int) -> float:
        name = f"Q{new_id()}"
        await self.fill_queue(name, count)
        pull = Pull(self.connection, name, "c", window=2048)
        start, seen = time.perf_counter(), 0
        await pull.start()
        while seen < count:
            deliveries = await pull.take(500)
            await ack_all(deliveries)
            seen += len(deliveries)
        await self.connection.client.flush()
        elapsed = time.perf_counter() - start
        await pull.stop()
        await self.js.delete_stream(name)
        return count / elapsed

    async def bare_fetch(self, count: int) -> float:
        name = f"Q{new_id()}"
        await self.fill_queue(name, count)
        subscription = await self.js.pull_subscribe_bind("c", name)
        start, seen = time.perf_counter(), 0
        while seen < count:
            messages = await subscription.fetch(500)
            for message in messages:
                await message.ack()
            seen += len(messages)
        await self.connection.client.flush()
        elapsed = time.perf_counter() - start
        await subscription.unsubscribe()
        await self.js.delete_stream(name)
        return count / elapsed

    # -- blobs

    async def blob_put(self, count: int) -> float:
        data = [(new_id() * 64)[:2048].encode() for _ in range(count)]
        start = time.perf_counter()
        for blob in data:
            await self.blobs.put("bench", blob)
        return count / (time.perf_counter() - start)

    async def bare_put(self, count: int) -> float:
        data = [(new_id() * 64)[:2048].encode() for _ in range(count)]
        start = time.perf_counter()
        for blob in data:
            subject = self.names.blob("bench", BlobRef.of(blob).digest)
            await self.js.publish(subject, blob, headers={"Nats-Expected-Last-Subject-Sequence": "0"})
        return count / (time.perf_counter() - start)

    async def blob_get(self, refs: list[BlobRef]) -> float:
        start = time.perf_counter()
        for ref in refs:
            await self.blobs.get("bench", ref)
        return len(refs) / (time.perf_counter() - start)

    async def bare_get(self, refs: list[BlobRef]) -> float:
        start = time.perf_counter()
        for ref in refs:
            subject = self.names.blob("bench", ref.digest)
            await self.js.get_last_msg(self.names.blobs, subject, direct=True)
        return len(refs) / (time.perf_counter() - start)

    async def run(self) -> bool:
        synced = self.durability == "power"
        few, many = (300, 2_000) if synced else (1_000, 10_000)
        results = [
            await self.beside(
                "log.append.sequential",
                "us",
                lambda: self.append_sequential(few),
                lambda: self.bare_sequential(few),
                1.3,
                at_least=False,
            ),
            await self.beside(
                "log.append.pipelined",
                "/s",
                lambda: self.append_pipelined(many),
                lambda: self.bare_pipelined(many),
                0.7,
                at_least=True,
            ),
            await self.beside(
                "pull.ack",
                "/s",
                lambda: self.pull_and_ack(many),
                lambda: self.bare_fetch(many),
                1.7,
                at_least=True,
            ),
            await self.beside(
                "blob.put.2k", "/s", lambda: self.blob_put(few), lambda: self.bare_put(few), 0.7, at_least=True
            ),
        ]
        refs = [await self.blobs.put("bench", (new_id() * 64)[:2048].encode()) for _ in range(few)]
        results.append(
            await self.beside(
                "blob.get.2k", "/s", lambda: self.blob_get(refs), lambda: self.bare_get(refs), 0.7, at_least=True
            )
        )
        key = await self.long_run(1_000)
        pairs = [(await self.read_back(key, 1_000), await self.bare_read(key, 1_000)) for _ in range(ROUNDS)]
        rate, bare = middle([mine for mine, _ in pairs]), middle([other for _, other in pairs])
        results.append(
            report("log.read", rate, "commits/s", target=20_000, bare=bare, by_ratio=False, durability=self.durability)
        )
        return all(results)


async def main() -> bool:
    results = []
    durabilities: tuple[Durability, ...] = ("process", "power")
    for durability in durabilities:
        with tempfile.TemporaryDirectory() as data:
            server = NatsServer(Path(data), durability=durability)
            server.start()
            try:
                config = FabricConfig()
                names = Names(config.prefix, config.shards)
                connection = await Connection.open(NatsConfig(url=server.url), names, name="bench")
                await JetStreamTopology(connection, config).ensure()
                results.append(await Bench(connection, config, durability).run())
                await connection.close()
            finally:
                server.stop()
    return all(results)


if __name__ == "__main__":
    sys.exit(0 if uvloop.run(main()) else 1)
