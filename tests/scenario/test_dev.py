"""`penstock dev` as a user runs it: one process to start, and nothing left when it ends."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import asyncpg
import nats
import nats.errors
import pytest
from nats.aio.client import Client
from nats.js import JetStreamContext

from penstock.embedded.identity import unprivileged
from penstock.embedded.ports import free_port
from penstock.embedded.stack import Stack
from penstock.testkit.devstack import DevStack
from penstock.testkit.eventually import eventually, eventually_sync
from penstock.testkit.processes import descendants, is_alive, process_id

SERVERS_ONLY = ("--without", "gateway")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevStack]:
    """Shared by the tests that leave it running."""
    with DevStack(tmp_path_factory.mktemp("dev") / "data", *SERVERS_ONLY) as dev:
        yield dev


def refused(data: Path, *options: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "penstock.cli", "dev", "--data-dir", str(data), *SERVERS_ONLY, *options]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60, input="")


async def connect(stack: Stack) -> tuple[Client, JetStreamContext]:
    client = await nats.connect(
        stack.settings["nats.url"],
        reconnect_time_wait=0.05,
        max_reconnect_attempts=-1,
    )
    return client, client.jetstream(timeout=2)


async def publish_until_acknowledged(jetstream: JetStreamContext, number: int) -> None:
    while True:
        try:
            await jetstream.publish("kept", str(number).encode(), headers={"Nats-Msg-Id": str(number)})
        except (nats.errors.Error, TimeoutError):
            await asyncio.sleep(0)
        else:
            return


async def read_all(jetstream: JetStreamContext) -> list[int]:
    total = (await jetstream.stream_info("KEPT")).state.messages
    subscription = await jetstream.pull_subscribe("kept", stream="KEPT")
    read: list[int] = []
    while len(read) < total:
        read += [int(message.data) for message in await subscription.fetch(1000, timeout=10)]
    return read


async def test_no_acknowledged_message_is_lost_when_nats_is_killed(dev: DevStack) -> None:
    stack = dev.await_ready()
    client, jetstream = await connect(stack)
    await jetstream.add_stream(name="KEPT", subjects=["kept"])
    acknowledged: list[int] = []
    enough = asyncio.Event()

    async def publish() -> None:
        for number in count():
            await publish_until_acknowledged(jetstream, number)
            acknowledged.append(number)
            if enough.is_set():
                return

    async def publish_more() -> None:
        goal = len(acknowledged) + 200
        await eventually(lambda: len(acknowledged) >= goal, timeout=60)

    publishing = asyncio.create_task(publish())
    for _ in range(2):
        await publish_more()
        await asyncio.to_thread(dev.crash, "nats")
    await publish_more()
    enough.set()
    await publishing
    assert await read_all(jetstream) == acknowledged
    await client.close()
    again = dev.await_ready()
    assert again.settings["nats.url"] == stack.settings["nats.url"]


async def test_postgres_is_back_with_its_data_after_a_kill(dev: DevStack) -> None:
    dsn = dev.await_ready().settings["postgres.dsn"]
    connection = await asyncpg.connect(dsn)
    await connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    await asyncio.to_thread(dev.crash, "postgres")
    assert dev.await_ready().settings["postgres.dsn"] == dsn
    connection.terminate()
    connection = await asyncpg.connect(dsn)
    assert await connection.fetchval("SELECT answer FROM kept") == 42
    await connection.close()


def test_a_second_instance_on_the_same_data_is_refused_and_told_why(dev: DevStack) -> None:
    dev.await_ready()
    second = refused(dev.data)
    assert second.returncode == 1
    assert "EMBEDDED_DATA_IN_USE" in second.stderr
    assert str(dev.pid) in second.stderr
    assert "Traceback" not in second.stderr
    dev.await_ready()


def test_a_reset_is_refused_while_an_instance_runs(dev: DevStack) -> None:
    dev.await_ready()
    assert refused(dev.data, "--reset", "--yes").returncode == 1
    assert (dev.data / "nats" / "jetstream").exists()
    dev.await_ready()


def test_doctor_finds_the_running_stack_without_being_told(dev: DevStack) -> None:
    dev.await_ready()
    argv = [sys.executable, "-m", "penstock.cli", "doctor", "--data-dir", str(dev.data), "-o", "json"]
    answer = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_a_child_that_crashed_is_reported_as_another_process(dev: DevStack) -> None:
    dev.await_ready()
    before = dev.service("nats")
    after = dev.crash("nats")
    assert after.pid != before.pid
    assert after.address == before.address
    assert after.restarts == before.restarts + 1


def test_signals_end_it_cleanly_and_leave_no_process(tmp_path: Path) -> None:
    dev = DevStack(tmp_path / "data", *SERVERS_ONLY)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        dev.start()
        family = descendants(dev.pid)
        assert len(family) > 2
        assert dev.stop(number) == 0
        assert not any(map(is_alive, family))
        assert dev.stack is None


def test_a_kill_leaves_no_process_and_the_next_start_continues(tmp_path: Path) -> None:
    data = tmp_path / "data"
    dev = DevStack(data, *SERVERS_ONLY)
    stack = dev.start()
    asyncio.run(_store(stack))
    family = descendants(dev.pid)
    dev.process.kill()
    dev.wait()
    eventually_sync(lambda: not any(map(is_alive, family)), 30)
    with DevStack(data, *SERVERS_ONLY) as again:
        assert asyncio.run(_stored(again.await_ready())) == (1, 42)


def test_a_signal_while_it_starts_leaves_no_process(tmp_path: Path) -> None:
    dev = DevStack(tmp_path / "data", *SERVERS_ONLY)
    dev.launch()
    me = process_id(dev.pid)
    eventually_sync(lambda: descendants(dev.pid), 30)
    family = descendants(dev.pid)
    dev.stop(signal.SIGTERM)
    eventually_sync(lambda: not any(map(is_alive, {me, *family})), 30)
    assert dev.stack is None


def test_reset_starts_over(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with DevStack(data, *SERVERS_ONLY) as dev:
        asyncio.run(_store(dev.await_ready()))
    assert refused(data, "--reset").returncode == 1, "nobody said yes"
    with DevStack(data, *SERVERS_ONLY) as dev:
        assert asyncio.run(_stored(dev.await_ready())) == (1, 42)
    with DevStack(data, *SERVERS_ONLY, "--reset", "--yes") as dev:
        assert asyncio.run(_stored(dev.await_ready())) == (0, None)


def test_reset_touches_nothing_that_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    answer = refused(tmp_path, "--reset", "--yes")
    assert answer.returncode == 1
    assert "EMBEDDED_DATA_NOT_OURS" in answer.stderr
    assert (tmp_path / "thesis.tex").exists()


def test_given_ports_are_used_and_taken_ones_refused(tmp_path: Path, dev: DevStack) -> None:
    port = free_port()
    with DevStack(tmp_path / "data", *SERVERS_ONLY, "--nats-port", str(port)) as other:
        assert other.await_ready().settings["nats.url"] == f"nats://127.0.0.1:{port}"
        answer = refused(tmp_path / "third", "--nats-port", str(port))
    assert answer.returncode == 1
    assert "EMBEDDED_PORT_TAKEN" in answer.stderr


def test_servers_that_already_run_are_used_instead_of_children(tmp_path: Path, dev: DevStack) -> None:
    settings = dev.await_ready().settings
    outside = ("--nats", settings["nats.url"], "--postgres", settings["postgres.dsn"])
    with DevStack(tmp_path / "data", *outside) as other:
        stack = other.await_ready()
        assert [(service.name, service.origin) for service in stack.services] == [
            ("nats", "external"),
            ("postgres", "external"),
            ("gateway", "child"),
        ]
        assert stack.settings["nats.url"] == settings["nats.url"]
        password = settings["postgres.dsn"].partition("@")[0].rpartition(":")[2]
        assert password not in other.output


@pytest.mark.skipif(os.geteuid() != 0, reason="runs as an unprivileged user already")
def test_it_runs_as_an_unprivileged_user(tmp_path: Path) -> None:
    identity = unprivileged(tmp_path, Path(sys.executable), tmp_path / "home")
    assert identity is not None
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, identity.uid, identity.gid)
    dev = DevStack(home / "data", *SERVERS_ONLY, identity=identity)
    stack = dev.start()
    family = descendants(dev.pid)
    assert {Path(f"/proc/{process.pid}").stat().st_uid for process in family if is_alive(process)} == {identity.uid}
    asyncio.run(_store(stack))
    assert dev.stop() == 0
    assert not any(map(is_alive, family))


async def _store(stack: Stack) -> None:
    client, jetstream = await connect(stack)
    await jetstream.add_stream(name="KEPT", subjects=["kept"])
    await jetstream.publish("kept", b"x")
    await client.close()
    connection = await asyncpg.connect(stack.settings["postgres.dsn"])
    await connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    await connection.close()


async def _stored(stack: Stack) -> tuple[int, int | None]:
    client, jetstream = await connect(stack)
    streams = {info.config.name: info.state.messages for info in await jetstream.streams_info()}
    await client.close()
    connection = await asyncpg.connect(stack.settings["postgres.dsn"])
    exists = await connection.fetchval("SELECT to_regclass('kept') IS NOT NULL")
    answer = await connection.fetchval("SELECT answer FROM kept") if exists else None
    await connection.close()
    return streams.get("KEPT", 0), answer
