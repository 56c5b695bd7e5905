"""A coordinator between a real nats-server and a worker that knows nothing but subjects and JSON."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from itertools import pairwise
from typing import Any, Self

import msgspec
import nats
from nats.aio.client import Client

from penstock.coordinator.coordinator import Coordinator
from penstock.coordinator.kinds import kinds
from penstock.coordinator.ports import Ports
from penstock.core.graph.decider import GraphDecider
from penstock.core.graph.evolve import evolve
from penstock.core.graph.programs import Programs
from penstock.core.graph.state import State
from penstock.core.model import commands as c
from penstock.core.model import events as e
from penstock.core.model.commit import EMPTY, RunKey
from penstock.core.model.decider import Facts
from penstock.core.model.upcast import decode_events
from penstock.core.turn import recall
from penstock.expr.evaluator import ExpressionEvaluator
from penstock.fabric.errors import FabricError
from penstock.fabric.jetstream.connection import Connection
from penstock.fabric.ownership import Holding
from penstock.fabric.ports.log import check_chain
from penstock.fabric.ports.owners import Member
from penstock.kit.clock import now
from penstock.kit.config import Config, FabricConfig
from penstock.kit.ids import new_id
from penstock.testkit.eventually import eventually
from penstock.wire.command import encode_command
from penstock.wire.reply import Reply, decode_reply

Json = Any
Does = Callable[[Json], Json]
"""What a worker makes of a task: the part of the result that is not just copied."""

TENANT = "acme"


def chain(*nodes: Json, name: str = "w") -> Json:
    """A definition whose nodes follow each other; a name alone is a task on queue `q`."""
    full = [{"id": node, "type": "task", "queue": "q"} if isinstance(node, str) else node for node in nodes]
    ids = [node["id"] for node in full]
    ways = [{"from": one, "to": other} for one, other in pairwise(ids)]
    return {"name": name, "nodes": full, "transitions": ways}


def done(task: Json) -> Json:
    return {"status": "completed", "output": {"by": task["node"]}}


class Running:
    """A coordinator that shows signs of life until it hangs."""

    def __init__(self, coordinator: Coordinator) -> None:
        self.coordinator = coordinator
        self._beating = asyncio.create_task(self._beat())

    @property
    def holdings(self) -> list[Holding]:
        return list(self.coordinator.ownership.held.values())

    async def hang(self) -> None:
        """It goes on with what it has, and knows nothing of what happens to its shards."""
        self._beating.cancel()
        await asyncio.wait([self._beating])

    async def stop(self) -> None:
        """In order."""
        await self.hang()
        await self.coordinator.ownership.close()

    async def _beat(self) -> None:
        """As `Ownership.run`, but without giving anything up in the end."""
        while True:
            with contextlib.suppress(FabricError):  # the server is away
                await self.coordinator.ownership.announce()
                await self.coordinator.ownership.place()
            await asyncio.sleep(0.2)  # the pace of its signs of life; nothing waits for it


class Stage:
    def __init__(self, connection: Connection, config: FabricConfig) -> None:
        self.connection = connection
        self.config = config
        self.names = connection.names
        self.ports = Ports.over(connection, Config(fabric=config))
        self.definitions: dict[str, Json] = {}

    # -- who takes part

    @contextlib.asynccontextmanager
    async def coordinator(self, name: str = "c", *, promote_after: float = 5.0) -> AsyncIterator[Running]:
        """Runs until the block ends, and is then simply gone."""
        config = msgspec.structs.replace(self.config, timer_promote_after=promote_after)
        running = Running(Coordinator(self.ports, config, Member(name, new_id()), kinds(), clock=now))
        try:
            await eventually(lambda: len(running.holdings) == config.shards, 30)
            yield running
        finally:
            await running.hang()
            await running.coordinator.kill()

    @contextlib.asynccontextmanager
    async def worker(self, does: Does = done, queue: str = "q") -> AsyncIterator[Counter[str]]:
        """Counts the tasks that it was given."""
        client = await nats.connect(self.connection.config.url)
        given: Counter[str] = Counter()
        working = asyncio.create_task(self._work(client, queue, does, given))
        try:
            yield given
        finally:
            working.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await working
            await client.close()

    async def _work(self, client: Client, queue: str, does: Does, given: Counter[str]) -> None:
        stream = client.jetstream()
        tasks = await stream.pull_subscribe(f"{self.names.prefix}.task.{TENANT}.{queue}.*", f"test_{queue}")
        while True:
            with contextlib.suppress(TimeoutError):
                for message in await tasks.fetch(100, timeout=1):
                    task = json.loads(message.data)
                    name = f"{task['task_id']}-{task['attempt']}"
                    given[name] += 1
                    copied = {field: task[field] for field in ("v", "task_id", "attempt", "nonce")}
                    result = json.dumps(copied | does(task)).encode()
                    await stream.publish(task["reply"], result, headers={"Nats-Msg-Id": name})
                    await message.ack()

    # -- what is asked

    async def define(self, definition: Json, version: str = "main") -> str:
        graph = await self.ports.definitions.save(TENANT, definition)
        await self.ports.definitions.name(TENANT, definition["name"], version, graph)
        self.definitions[graph] = self.definitions[f"{definition['name']}@{version}"] = definition
        return graph

    async def start(self, definition: Json, input: Json = None, *, reply: str = "") -> RunKey:  # noqa: A002 - the run's
        key = RunKey(TENANT, new_id())
        graph = await self.define(definition)
        await self.send(key, c.Start(definition["name"], graph, input, new_id(), key.run), f"{key.run}.start", reply)
        return key

    async def send(self, key: RunKey, command: c.Command, name: str = "", reply: str = "") -> None:
        await self.ports.commands.send(key, name or new_id(), encode_command(command, reply))

    @contextlib.asynccontextmanager
    async def inbox(self) -> AsyncIterator[tuple[str, asyncio.Queue[Reply]]]:
        subject = self.connection.client.new_inbox()
        replies: asyncio.Queue[Reply] = asyncio.Queue()

        async def take(message: Any) -> None:  # noqa: ANN401 - nats-py's
            replies.put_nowait(decode_reply(message.data))

        stop = await self.connection.subscribe(subject, take)
        yield subject, replies
        await stop()

    # -- what came of it

    async def closed(self, *keys: RunKey, within: float = 60) -> Self:
        async def all_closed() -> bool:
            lasts = await self.ports.log.lasts(keys)
            return len(lasts) == len(keys) and all(last.open == 0 for last in lasts)

        await eventually(all_closed, within)
        return self

    async def events(self, key: RunKey) -> list[e.Event]:
        return [event for entry in await self.ports.log.read(key) for event in decode_events(entry.commit.events)]

    async def outcome(self, key: RunKey) -> str | None:
        state = State()
        for entry in await self.ports.log.read(key):
            for event in decode_events(entry.commit.events):
                evolve(state, event, entry.commit.at)
        return state.outcome

    async def verify(self, *keys: RunKey) -> None:
        """The log is one chain, deciding again gives the same events, and no node completed twice."""
        decider = GraphDecider(Programs(ExpressionEvaluator()))
        for key in keys:
            commits = await self.ports.log.read(key)
            assert check_chain(key, commits, EMPTY) == commits
            state = decider.initial()
            for entry in commits:
                for cause in recall(entry.commit):
                    if cause.command is None:
                        for event in cause.events:
                            decider.evolve(state, event, entry.commit.at)
                    else:
                        facts = Facts(self.definitions, cause.facts.blobs, cause.facts.memos)
                        assert decider.decide(state, cause.command, entry.commit.at, facts) == cause.events
            assert max(_completions(await self.events(key)).values(), default=1) == 1


def _completions(events: Iterable[e.Event]) -> Counter[int]:
    return Counter(event.token for event in events if isinstance(event, e.NodeCompleted))
