"""What goes wrong on a real server: each a typed error, nothing lost, and no restart of ours needed."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from penstock.core.model.commit import EMPTY, Head
from penstock.embedded.nats import NatsServer
from penstock.fabric.errors import (
    LogBroken,
    PermissionDenied,
    RequestRefused,
    ServerTooOld,
    StorageFull,
    TooLarge,
    Unavailable,
    Undecodable,
)
from penstock.fabric.jetstream import connection as connections
from penstock.fabric.jetstream.bucket import Bucket
from penstock.fabric.jetstream.connection import Connection
from penstock.fabric.jetstream.consumers import ConsumerSpec, create_consumer
from penstock.fabric.jetstream.purge import purge
from penstock.fabric.jetstream.topology import JetStreamTopology
from penstock.fabric.naming import Names
from penstock.fabric.ports.deadletters import DeadLetter
from penstock.fabric.ports.snapshots import Snapshot, load_history
from penstock.fabric.ports.tasks import Task
from penstock.kit.config import NatsConfig
from penstock.kit.ids import new_id
from penstock.testkit.eventually import eventually
from tests.contract.conftest import install
from tests.contract.rig import Rig, jetstream_rig
from tests.contract.test_log import collect, commit, fill

ILLEGAL = b"\xc1 not a commit"


class LockedServer(NatsServer):
    def config(self) -> str:
        return super().config() + "authorization { user: penstock, password: right }\n"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    """One that a test may kill."""
    server = NatsServer(tmp_path / "nats")
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
async def rig(server: NatsServer) -> AsyncIterator[Rig]:
    nats = NatsConfig(url=server.url, request_timeout=0.5, retry_for=20)
    async with install(server, nats) as fabric:
        yield jetstream_rig(fabric.connection, fabric.config)


async def test_appends_wait_for_a_killed_server_and_none_is_lost_or_doubled(rig: Rig, server: NatsServer) -> None:
    keys = [rig.run_in(0) for _ in range(20)]
    heads = dict.fromkeys(keys, EMPTY)
    acknowledged: list[Head] = []

    async def write() -> None:
        for _ in range(30):
            outcomes = await rig.log.append_many([commit(key, heads[key]) for key in keys])
            for key, outcome in zip(keys, outcomes, strict=True):
                assert isinstance(outcome, Head), outcome
                heads[key] = outcome
                acknowledged.append(outcome)

    writing = asyncio.create_task(write())
    for wanted in (50, 150, 250):
        await eventually(lambda wanted=wanted: len(acknowledged) >= wanted)  # type: ignore[misc]
        server.kill()
        server.start()
    await writing
    for key in keys:
        commits = await rig.log.read(key)
        assert len(commits) == 30
        assert commits[-1].head == heads[key]


async def test_a_server_that_hangs_is_waited_for(rig: Rig, server: NatsServer) -> None:
    key = rig.run_in(0)
    head = await rig.log.append(commit(key))
    server.signal(signal.SIGSTOP)
    append = asyncio.create_task(rig.log.append(commit(key, head)))
    done, _ = await asyncio.wait([append], timeout=1.2)  # longer than a request may take
    assert not done
    server.signal(signal.SIGCONT)
    await append
    assert len(await rig.log.read(key)) == 2


async def test_a_server_that_stays_away_is_a_typed_error_and_its_return_needs_no_restart(
    rig: Rig, server: NatsServer
) -> None:
    key = rig.run_in(0)
    assert rig.connection is not None
    impatient = await Connection.open(
        NatsConfig(url=server.url, request_timeout=0.2, retry_for=0.5), rig.names, name="impatient"
    )
    log = jetstream_rig(impatient, rig.config).log
    append = commit(key)
    server.kill()
    with pytest.raises(Unavailable) as caught:
        await log.append(append)
    assert caught.value.retryable
    with pytest.raises(Unavailable):
        await log.read(key)
    server.start()
    await rig.log.append(append)
    assert len(await rig.log.read(key)) == 1
    await impatient.close()


async def test_appends_and_tasks_begun_while_the_server_is_away_are_waited_for(rig: Rig, server: NatsServer) -> None:
    assert rig.connection is not None
    connection, keys = rig.connection, [rig.run_in(0) for _ in range(3)]
    server.kill()
    await eventually(lambda: not connection.connected)
    appending = asyncio.create_task(rig.log.append_many([commit(key) for key in keys]))
    queueing = asyncio.create_task(rig.tasks.publish_many([Task("acme", "mail", f"t-{n}", b"") for n in range(3)]))
    server.start()
    assert all(isinstance(outcome, Head) for outcome in await appending)
    assert await queueing == [True] * 3


async def test_many_appends_give_up_on_a_server_no_later_than_one(rig: Rig, server: NatsServer) -> None:
    impatient = await Connection.open(
        NatsConfig(url=server.url, request_timeout=0.2, retry_for=0.5), rig.names, name="impatient"
    )
    log, loop = jetstream_rig(impatient, rig.config).log, asyncio.get_running_loop()
    server.signal(signal.SIGSTOP)
    start = loop.time()
    outcomes = await log.append_many([commit(rig.run_in(0)) for _ in range(40)])
    assert loop.time() - start < 10
    assert all(isinstance(outcome, Unavailable) for outcome in outcomes)
    server.signal(signal.SIGCONT)
    await impatient.close()


async def test_a_read_waits_for_a_stream_that_does_not_answer_yet(rig: Rig) -> None:
    assert rig.connection is not None
    key = rig.run_in(0)
    await rig.connection.api(f"STREAM.DELETE.{rig.names.log_stream(0)}")
    reading = asyncio.create_task(rig.log.read(key))
    await JetStreamTopology(rig.connection, rig.config).ensure()
    assert await reading == []


async def test_pulls_and_tails_go_on_after_a_restart(rig: Rig, server: NatsServer) -> None:
    key = rig.run_in(0)
    head = await rig.log.append(commit(key))
    tail = asyncio.create_task(collect(rig.log.tail(0), 3))
    queue = await rig.tasks.open("acme", "mail")
    head = await rig.log.append(commit(key, head))
    server.kill()
    server.start()
    await rig.log.append(commit(key, head))
    assert [entry.commit.first for entry in await tail] == [0, 1, 2]
    await rig.tasks.publish(Task("acme", "mail", f"{new_id()}-1", b"work"))
    async with asyncio.timeout(15):
        (received,) = await queue.take(1)
    assert received.data == b"work"
    await queue.stop()


async def test_a_listing_ends_though_the_rest_of_it_is_removed_meanwhile(rig: Rig) -> None:
    assert rig.connection is not None
    letters = [DeadLetter("acme", "mail", f"t-{number}", "boom", b"", rig.now()) for number in range(3000)]
    await asyncio.gather(*map(rig.dead_letters.bury, letters))  # more than are fetched ahead
    listing = rig.dead_letters.list("acme")
    async with asyncio.timeout(15):
        await anext(aiter(listing))
        await purge(rig.connection, rig.names.dead_letters, f"{rig.names.prefix}.dlq.>")
        assert len([letter async for letter in listing]) < len(letters)


async def test_promoted_timers_fire_after_a_restart(rig: Rig, server: NatsServer) -> None:
    from tests.contract.test_schedules import after  # noqa: PLC0415 - its module mark must not reach this one

    timer = after(rig, 0.5)
    await rig.schedules.set(timer)
    server.stop()
    server.start()
    inboxes = await rig.owners.fence(0, 1)
    async with asyncio.timeout(15):
        (received,) = await inboxes.fired.take(1)
    assert rig.names.run_of(received.subject) == timer.key
    assert rig.now() >= timer.due


async def test_a_full_store_is_a_typed_error_and_writes_go_on_when_there_is_room(tmp_path: Path) -> None:
    server = NatsServer(tmp_path / "full", durability="process", max_file_store=3_000_000)
    server.start()
    try:
        async with install(server, NatsConfig(url=server.url, retry_for=1)) as fabric:
            rig = jetstream_rig(fabric.connection, fabric.config)
            key = rig.run_in(0)
            head, error = EMPTY, None
            for _ in range(100):
                try:
                    head = await rig.log.append(commit(key, head, size=100_000))
                except StorageFull as full:
                    error = full
                    break
            assert error is not None
            assert error.retryable
            commits = await rig.log.read(key)
            assert commits[-1].head == head
            await fabric.connection.api(f"STREAM.PURGE.{rig.names.log_stream(0)}", {"keep": 1})
            head = await rig.log.append(commit(key, head))
            last = await rig.log.last(key)
            assert last is not None
            assert last.sequence == head.sequence
    finally:
        server.stop()


async def test_a_message_too_large_for_the_server_is_refused_before_it_is_sent(rig: Rig) -> None:
    assert rig.connection is not None
    with pytest.raises(TooLarge) as caught:
        await rig.commands.send(rig.run_in(0), "c-1", b"x" * 2_000_000)
    assert caught.value.attributes["size"] == 2_000_000
    await rig.commands.send(rig.run_in(0), "c-1", b"small")
    assert rig.connection.connected


async def test_bytes_that_are_no_commit_are_a_typed_error_that_names_them(rig: Rig) -> None:
    key = rig.run_in(0)
    assert rig.connection is not None
    await rig.connection.write(rig.names.log(key), ILLEGAL, {"Ps-Commit": "x"}, "a forged commit")
    with pytest.raises(Undecodable):
        await rig.log.read(key)


async def test_a_commit_from_a_newer_penstock_is_not_guessed_at(rig: Rig) -> None:
    key = rig.run_in(0)
    assert rig.connection is not None
    body, _ = commit(key).encode()
    newer = body.replace(b"\xa1v\x01", b"\xa1v\x02")
    await rig.connection.write(rig.names.log(key), newer, {"Ps-Commit": "x"}, "a newer commit")
    with pytest.raises(Undecodable):
        await rig.log.read(key)


@pytest.mark.parametrize("forgery", ["changed", "misplaced", "of another run"])
async def test_a_forged_commit_is_found_where_it_stands(rig: Rig, forgery: str) -> None:
    key = rig.run_in(0)
    head = await fill(rig, key, 2)
    forged = {
        "changed": commit(key, Head(head.sequence, b"\0" * 16, head.events)),
        "misplaced": commit(key, Head(head.sequence, head.digest, head.events + 7)),
        "of another run": commit(rig.run_in(0), head),
    }[forgery]
    assert rig.connection is not None
    body, _ = forged.encode()
    ack = await rig.connection.write(rig.names.log(key), body, {"Ps-Commit": "x"}, "a forged commit")
    with pytest.raises(LogBroken) as caught:
        await rig.log.read(key)
    assert caught.value.attributes["sequence"] == ack.seq


async def test_a_removed_commit_is_found_by_the_one_after_it(rig: Rig) -> None:
    key = rig.run_in(0)
    await fill(rig, key, 4)
    commits = await rig.log.read(key)
    assert rig.connection is not None
    stream = rig.names.log_stream(0)
    config = (await rig.connection.api(f"STREAM.INFO.{stream}"))["config"]
    request = {"filter": rig.names.log(key), "seq": commits[1].head.sequence}
    assert config["deny_delete"]
    await rig.connection.api(f"STREAM.PURGE.{stream}", request)
    with pytest.raises(LogBroken) as caught:
        await rig.log.read(key)
    assert caught.value.attributes["sequence"] == commits[1].head.sequence


async def test_an_unreadable_snapshot_is_as_good_as_none(rig: Rig) -> None:
    key = rig.run_in(0)
    head = await fill(rig, key, 2)
    await rig.snapshots.save(key, Snapshot(head, b"state"))
    assert rig.connection is not None
    await Bucket(rig.connection, rig.names.snapshots).save(f"{key.tenant}.{key.run}", ILLEGAL)
    history = await load_history(rig.log, rig.snapshots, key)
    assert (history.snapshot, len(history.commits)) == (None, 2)


async def test_a_server_too_old_is_refused(server: NatsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "REQUIRED_SERVER", (99, 0))
    with pytest.raises(ServerTooOld) as caught:
        await Connection.open(NatsConfig(url=server.url), Names("ps", 1), name="test")
    assert caught.value.attributes["required"] == "99.0"


async def test_nobody_there_is_a_typed_error() -> None:
    with pytest.raises(Unavailable):
        await Connection.open(NatsConfig(url="nats://user:secret@127.0.0.1:1"), Names("ps", 1), name="test")


async def test_a_wrong_password_is_a_typed_error_without_the_password(tmp_path: Path) -> None:
    server = LockedServer(tmp_path / "locked", durability="process")
    server.start()
    try:
        with pytest.raises(PermissionDenied) as caught:
            await Connection.open(
                NatsConfig(url=server.url, user="penstock", password="wrong"),  # noqa: S106 - a test's
                Names("ps", 1),
                name="test",
            )
        assert "wrong" not in str(caught.value)
    finally:
        server.stop()


async def test_a_foreign_consumer_on_a_shards_queue_is_a_typed_error_and_not_a_spin(rig: Rig) -> None:
    assert rig.connection is not None
    stream = rig.names.command_stream(0)
    spec = ConsumerSpec(name="foreign", durable_name="foreign")
    await create_consumer(rig.connection, stream, spec)
    with pytest.raises(RequestRefused) as caught:
        await rig.owners.fence(0, 1)
    assert caught.value.attributes["number"] in {10099, 10100}
    other = await rig.owners.fence(1, 1)
    await other.commands.stop()
    await other.fired.stop()


async def test_nothing_is_kept_for_a_run_that_rests(rig: Rig) -> None:
    connection = rig.connection
    assert connection is not None
    keys = [rig.run_in(0) for _ in range(500)]
    await rig.log.append_many([commit(key) for key in keys])
    await rig.tasks.publish_many([Task("acme", "mail", f"{key.run}-1", b"work") for key in keys])
    await rig.log.lasts(keys)
    assert (connection._pending, connection._collecting, connection.after_reconnect) == ({}, {}, set())
