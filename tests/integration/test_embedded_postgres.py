from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from penstock.embedded import identity
from penstock.embedded.errors import OutOfReach, PostgresInitFailed, PostgresVersionMismatch
from penstock.embedded.identity import Identity
from penstock.embedded.postgres import PostgresServer
from penstock.testkit.eventually import eventually
from penstock.testkit.processes import descendants, is_alive, process_id

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root must become someone else")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    server = PostgresServer(tmp_path_factory.mktemp("postgres"))
    server.start()
    yield server
    server.stop()


async def query(server: PostgresServer, sql: str) -> object:
    connection = await asyncpg.connect(server.dsn)
    try:
        return await connection.fetchval(sql)
    finally:
        await connection.close()


async def test_it_serves_the_database_its_dsn_names(server: PostgresServer) -> None:
    assert await query(server, "SELECT current_database() || '/' || current_user") == "penstock/penstock"


async def test_nobody_gets_in_without_the_password(server: PostgresServer) -> None:
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(f"postgresql://penstock:wrong@127.0.0.1:{server.port}/penstock")


@pytest.mark.parametrize("end", ["stop", "kill"])
async def test_a_restart_keeps_address_and_data(server: PostgresServer, end: str) -> None:
    dsn = server.dsn
    await query(server, "DROP TABLE IF EXISTS kept")
    await query(server, "CREATE TABLE kept AS SELECT 42 AS answer")
    children = descendants(server.pid)
    getattr(server, end)()
    await eventually(lambda: not any(map(is_alive, children)), timeout=30)
    server.start()
    assert server.dsn == dsn
    assert await query(server, "SELECT answer FROM kept") == 42


@as_root
def test_as_root_it_runs_as_someone_else(server: PostgresServer) -> None:
    assert Path(f"/proc/{server.pid}").stat().st_uid != 0
    assert (server.data / "cluster").stat().st_uid != 0


def test_data_of_another_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cluster").mkdir()
    (tmp_path / "cluster" / "PG_VERSION").write_text("12\n")
    with pytest.raises(PostgresVersionMismatch) as refused:
        PostgresServer(tmp_path).prepare()
    assert refused.value.attributes["found"] == "12"


def test_data_that_cannot_be_made_leaves_nothing_half_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.embedded.postgres.DATABASE", "not a name")
    server = PostgresServer(tmp_path)
    with pytest.raises(PostgresInitFailed):
        server.prepare()
    assert not (tmp_path / "cluster").exists()


@as_root
@pytest.mark.skipif(sys.platform != "linux", reason="capabilities are Linux's")
def test_a_folder_out_of_reach_without_the_right_to_pass_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setattr(identity, "_held_capability", lambda: None)
    with pytest.raises(OutOfReach):
        PostgresServer(tmp_path / "closed" / "postgres").prepare()


@as_root
def test_a_folder_closed_to_others_is_used_without_opening_it(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    server = PostgresServer(closed / "postgres")
    server.start()
    process = process_id(server.pid)
    server.stop()
    assert closed.stat().st_mode & 0o777 == 0o700
    assert not is_alive(process)


@as_root
def test_who_owns_the_data_is_who_it_runs_as(tmp_path: Path) -> None:
    cluster = tmp_path / "cluster"
    cluster.mkdir()
    os.chown(cluster, 65534, 65534)
    found = identity.unprivileged(cluster)
    assert found is not None
    assert (found.uid, found.gid) == (65534, 65534)


def test_only_root_becomes_someone_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert identity.unprivileged(tmp_path) is None


@pytest.mark.parametrize(
    ("mode", "owner", "group", "reached"),
    [
        pytest.param(0o711, 0, 0, True, id="open to all"),
        pytest.param(0o700, 0, 0, False, id="root only"),
        pytest.param(0o710, 0, 7, True, id="open to its group"),
        pytest.param(0o701, 0, 7, False, id="closed to its group"),
        pytest.param(0o077, 7, 0, False, id="closed to its owner"),
    ],
)
@as_root
def test_reach_follows_the_first_class_that_applies(
    tmp_path: Path, mode: int, owner: int, group: int, reached: bool
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    os.chown(folder, owner, group)
    folder.chmod(mode)
    assert identity._may_enter(folder, 7, 7) is reached
    assert Identity("x", 7, 7).reaches(Path("/usr/bin/env"))
