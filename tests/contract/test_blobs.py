"""Blobs: in memory, in the stream, in a directory and on (a fake of) S3."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from penstock.embedded.nats import NatsServer
from penstock.embedded.ports import free_port
from penstock.fabric.errors import (
    BlobCorrupt,
    BlobMissing,
    BlobStoreUnavailable,
    IllegalName,
    StorageFull,
    TooLarge,
    Unavailable,
    Undecodable,
)
from penstock.fabric.jetstream.blob_stream import StreamBlobs
from penstock.fabric.jetstream.blobs import JetStreamBlobs
from penstock.fabric.jetstream.purge import purge
from penstock.fabric.ports.blobs import BlobRef, Blobs
from penstock.kit.config import BlobsConfig
from penstock.kit.errors import ConfigInvalid
from penstock.testkit.memory.blobs import MemoryBlobs
from tests.contract.conftest import Fabric, OwnServer, install
from tests.contract.fake_s3 import fake_s3

SIZE_MAX = 4 * 1024 * 1024
SMALL, LARGE = b"small", b"large" * 400_000
TENANT = "acme"

Damage = Callable[[BlobRef, bytes], Awaitable[None]]


class Case(NamedTuple):
    blobs: Blobs
    damage: Damage
    """Put other bytes where a large blob lies."""


@pytest.fixture(params=["memory", "stream", "directory", "s3"])
def case(request: pytest.FixtureRequest) -> Case:
    chosen: Case = request.getfixturevalue(f"in_{request.param}")
    return chosen


@pytest.fixture
def in_memory() -> Case:
    blobs = MemoryBlobs(SIZE_MAX)

    async def damage(ref: BlobRef, data: bytes) -> None:
        blobs.stored[TENANT, ref.digest] = data

    return Case(blobs, damage)


@pytest.fixture
def in_stream(fabric: Fabric) -> Case:
    connection = fabric.connection

    async def damage(ref: BlobRef, data: bytes) -> None:
        subject = connection.names.blob(TENANT, ref.digest)
        await purge(connection, connection.names.blobs, subject)
        await connection.write(subject, data, None, "damage")

    return Case(JetStreamBlobs(connection, BlobsConfig(size_max=SIZE_MAX)), damage)


@pytest.fixture
def in_directory(fabric: Fabric, tmp_path: Path) -> Case:
    root = tmp_path / "with space"

    async def damage(ref: BlobRef, data: bytes) -> None:
        (root / TENANT / ref.digest[:2] / ref.digest).write_bytes(data)

    return Case(_beside(fabric, root.as_uri()), damage)


@pytest.fixture
async def in_s3(fabric: Fabric, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Case]:
    async with fake_s3() as fake:
        _use_s3(monkeypatch, fake.url)

        async def damage(ref: BlobRef, data: bytes) -> None:
            path = f"/bucket/some/prefix/{TENANT}/{ref.digest[:2]}/{ref.digest}"
            assert path in fake.objects
            fake.objects[path] = data

        yield Case(_beside(fabric, "s3://bucket/some/prefix"), damage)


def _beside(fabric: Fabric, url: str) -> JetStreamBlobs:
    config = BlobsConfig(backend=url, stream_max=1024, size_max=SIZE_MAX)
    return JetStreamBlobs(fabric.connection, config)


def _use_s3(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    for name, value in {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
    }.items():
        monkeypatch.setenv(name, value)


# -- every adapter


@pytest.mark.parametrize("size", [0, 1, 1024, 1025, 1024 * 1024 - 4096, 1024 * 1024, 1_500_000, SIZE_MAX])
async def test_what_was_put_is_what_comes_back(case: Case, size: int) -> None:
    data = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    ref = await case.blobs.put(TENANT, data)
    assert ref == BlobRef.of(data)
    assert await case.blobs.exists(TENANT, ref)
    assert await case.blobs.get(TENANT, ref) == data


@pytest.mark.parametrize("data", [SMALL, LARGE], ids=["small", "large"])
async def test_many_may_put_the_same_at_once(case: Case, data: bytes) -> None:
    refs = await asyncio.gather(*(case.blobs.put(TENANT, data) for _ in range(8)))
    assert set(refs) == {BlobRef.of(data)}
    assert await case.blobs.put(TENANT, data) == refs[0]
    assert await case.blobs.get(TENANT, refs[0]) == data


@pytest.mark.parametrize("data", [SMALL, LARGE], ids=["small", "large"])
async def test_a_tenant_does_not_see_the_blobs_of_another(case: Case, data: bytes) -> None:
    ref = await case.blobs.put(TENANT, data)
    assert not await case.blobs.exists("other", ref)
    with pytest.raises(BlobMissing):
        await case.blobs.get("other", ref)
    await case.blobs.delete("other", ref)
    assert await case.blobs.get(TENANT, ref) == data


@pytest.mark.parametrize("data", [SMALL, LARGE], ids=["small", "large"])
async def test_a_blob_that_was_never_put_is_missing(case: Case, data: bytes) -> None:
    ref = BlobRef.of(data)
    assert not await case.blobs.exists(TENANT, ref)
    with pytest.raises(BlobMissing) as missing:
        await case.blobs.get(TENANT, ref)
    assert missing.value.attributes["digest"] == ref.digest


@pytest.mark.parametrize("data", [SMALL, LARGE], ids=["small", "large"])
async def test_a_deleted_blob_is_missing_until_it_is_put_again(case: Case, data: bytes) -> None:
    ref = await case.blobs.put(TENANT, data)
    for _ in range(2):
        await case.blobs.delete(TENANT, ref)
    assert not await case.blobs.exists(TENANT, ref)
    with pytest.raises(BlobMissing):
        await case.blobs.get(TENANT, ref)
    await case.blobs.put(TENANT, data)
    assert await case.blobs.get(TENANT, ref) == data


async def test_changed_bytes_are_never_given_out_nor_written_over(case: Case) -> None:
    ref = await case.blobs.put(TENANT, LARGE)
    await case.damage(ref, b"other bytes")
    for _ in range(2):
        with pytest.raises(BlobCorrupt) as corrupt:
            await case.blobs.get(TENANT, ref)
        assert corrupt.value.attributes["digest"] == ref.digest
        await case.blobs.put(TENANT, LARGE)


async def test_a_reference_with_the_wrong_size_gets_nothing(case: Case) -> None:
    for data in (SMALL, LARGE):
        ref = await case.blobs.put(TENANT, data)
        with pytest.raises(BlobCorrupt):
            await case.blobs.get(TENANT, BlobRef(ref.name, ref.size - 1))


async def test_a_blob_over_the_limit_is_refused(case: Case) -> None:
    with pytest.raises(TooLarge) as refused:
        await case.blobs.put(TENANT, bytes(SIZE_MAX + 1))
    assert refused.value.attributes["size"] == SIZE_MAX + 1
    assert refused.value.attributes["limit"] == SIZE_MAX


ESCAPES = ["", ".", "..", "../x", "a/b", "a.", "a..b", "a b", "a*", ">", "é", "a\0", "x" * 65]


@pytest.mark.parametrize("data", [SMALL, LARGE], ids=["small", "large"])
async def test_a_tenant_that_could_escape_its_place_is_refused(case: Case, data: bytes) -> None:
    for tenant in ESCAPES:
        with pytest.raises(IllegalName):
            await case.blobs.put(tenant, data)
        with pytest.raises(IllegalName):
            await case.blobs.get(tenant, BlobRef.of(data))


# -- references


def test_a_reference_is_the_same_in_every_form() -> None:
    ref = BlobRef.of(SMALL)
    assert str(ref) == f"cas://sha256:{ref.digest}"
    assert msgspec.to_builtins(ref) == ref.to_json() == {"$blob": f"sha256:{ref.digest}", "size": 5}
    assert BlobRef.from_json(ref.to_json()) == ref


@pytest.mark.parametrize(
    "document",
    [
        None,
        {},
        {"$blob": "sha256:" + "0" * 64},
        {"$blob": "sha256:" + "0" * 63, "size": 1},
        {"$blob": "sha256:" + "A" * 64, "size": 1},
        {"$blob": "sha256:" + "0" * 64 + "\n", "size": 1},
        {"$blob": "md5:" + "0" * 64, "size": 1},
        {"$blob": "sha256:" + "0" * 64, "size": -1},
        {"$blob": "sha256:" + "0" * 64, "size": "1"},
        {"$blob": "sha256:" + "0" * 64, "size": 1, "more": 1},
    ],
)
def test_what_only_looks_like_a_reference_is_refused(document: object) -> None:
    with pytest.raises(Undecodable):
        BlobRef.from_json(document)


# -- the stream


async def test_a_put_that_broke_off_is_invisible_and_the_next_one_completes_it(fabric: Fabric) -> None:
    connection, blobs = fabric.connection, JetStreamBlobs(fabric.connection, BlobsConfig())
    ref = BlobRef.of(LARGE)
    first = f"{connection.names.blob(TENANT, ref.digest)}.0-{512 * 1024}"
    await connection.write(first, LARGE[: 512 * 1024], None, "half a put")
    assert not await blobs.exists(TENANT, ref)
    with pytest.raises(BlobMissing):
        await blobs.get(TENANT, ref)
    await blobs.put(TENANT, LARGE)
    assert await blobs.get(TENANT, ref) == LARGE
    info = await connection.api(f"STREAM.INFO.{connection.names.blobs}")
    assert info["state"]["messages"] == 5  # four ranges and the manifest, the first of them from before


async def test_a_put_that_is_cancelled_can_be_repeated(fabric: Fabric) -> None:
    blobs = JetStreamBlobs(fabric.connection, BlobsConfig())
    for yields in range(12):
        data = bytes([yields]) * 3_000_000
        putting = asyncio.create_task(blobs.put(TENANT, data))
        for _ in range(yields):
            await asyncio.sleep(0)
        putting.cancel()
        await asyncio.gather(putting, return_exceptions=True)
        assert await blobs.get(TENANT, await blobs.put(TENANT, data)) == data


async def test_a_blob_that_lacks_a_range_is_corrupt(fabric: Fabric) -> None:
    connection, blobs = fabric.connection, JetStreamBlobs(fabric.connection, BlobsConfig())
    ref = await blobs.put(TENANT, LARGE)
    second = f"{connection.names.blob(TENANT, ref.digest)}.{512 * 1024}-{1024 * 1024}"
    assert await purge(connection, connection.names.blobs, second) == 1
    with pytest.raises(BlobCorrupt):
        await blobs.get(TENANT, ref)


@pytest.mark.parametrize("manifest", [b"", b"\xff", b"[]", b'{"size": 2000000, "step": 0}'])
async def test_a_manifest_that_is_none_is_undecodable(fabric: Fabric, manifest: bytes) -> None:
    connection, ref = fabric.connection, BlobRef.of(LARGE)
    subject = connection.names.blob(TENANT, ref.digest)
    await connection.write(subject, manifest, {"Ps-Blob": "ranges"}, "nonsense")
    with pytest.raises(Undecodable):
        await JetStreamBlobs(connection, BlobsConfig()).get(TENANT, ref)


async def test_a_full_server_refuses_blobs_until_there_is_room(tmp_path: Path) -> None:
    server = NatsServer(tmp_path, durability="process", max_file_store=8 * 1024 * 1024)
    server.start()
    try:
        async with install(server) as fabric:
            blobs = JetStreamBlobs(fabric.connection, BlobsConfig())
            stored = [await blobs.put(TENANT, bytes([i]) * 700_000) for i in range(10)]
            with pytest.raises(StorageFull):
                await blobs.put(TENANT, LARGE)
            assert not await blobs.exists(TENANT, BlobRef.of(LARGE))
            for ref in stored[:5]:
                await blobs.delete(TENANT, ref)
            await blobs.put(TENANT, LARGE)
            for ref in (*stored[5:], BlobRef.of(LARGE)):
                assert BlobRef.of(await blobs.get(TENANT, ref)) == ref
    finally:
        server.stop()


async def test_blobs_wait_for_a_server_that_is_gone_and_go_on_when_it_is_back(own_server: OwnServer) -> None:
    blobs = JetStreamBlobs(own_server.fabric.connection, BlobsConfig())
    ref = await blobs.put(TENANT, LARGE)
    with own_server.gone():
        for attempt in (blobs.put(TENANT, SMALL), blobs.get(TENANT, ref), blobs.exists(TENANT, ref)):
            with pytest.raises(Unavailable) as gone:
                await attempt
            assert gone.value.retryable
    assert await blobs.get(TENANT, ref) == LARGE
    assert await blobs.get(TENANT, await blobs.put(TENANT, SMALL)) == SMALL


@pytest.mark.cluster
async def test_on_a_cluster_many_may_put_the_same_at_once(cluster_fabric: Fabric) -> None:
    blobs = JetStreamBlobs(cluster_fabric.connection, BlobsConfig())
    for data in (SMALL, LARGE):
        refs = await asyncio.gather(*(blobs.put(TENANT, data) for _ in range(8)))
        for ref in refs:
            assert await blobs.get(TENANT, ref) == data


# -- the object store


async def test_only_what_is_large_goes_to_the_object_store(fabric: Fabric, tmp_path: Path) -> None:
    blobs = _beside(fabric, tmp_path.as_uri())
    small, large = await blobs.put(TENANT, SMALL), await blobs.put(TENANT, LARGE)
    assert _files(tmp_path) == [Path(TENANT, large.digest[:2], large.digest)]
    stream = StreamBlobs(fabric.connection)
    assert await stream.exists(TENANT, small)
    assert not await stream.exists(TENANT, large)


def _files(root: Path) -> list[Path]:
    return [path.relative_to(root) for path in root.rglob("*") if path.is_file()]


async def test_blobs_are_found_where_an_earlier_configuration_put_them(fabric: Fabric, tmp_path: Path) -> None:
    now = BlobsConfig(backend=tmp_path.as_uri())
    refs = []
    for config in (BlobsConfig(), BlobsConfig(backend=now.backend, stream_max=1), now):
        earlier = JetStreamBlobs(fabric.connection, config)
        refs += [await earlier.put(TENANT, repr((config, i)).encode() * i) for i in (1, 20_000)]
    blobs = JetStreamBlobs(fabric.connection, now)
    for ref in refs:
        assert BlobRef.of(await blobs.get(TENANT, ref)) == ref
        await blobs.delete(TENANT, ref)
        assert not await blobs.exists(TENANT, ref)


@pytest.mark.parametrize(
    "backend", ["", "streams", "file://", "file:///", "file://host/x", "s3://", "gs://bucket", "http://host/x"]
)
def test_a_back_end_that_cannot_be_is_a_configuration_error(fabric: Fabric, backend: str) -> None:
    with pytest.raises(ConfigInvalid) as invalid:
        JetStreamBlobs(fabric.connection, BlobsConfig(backend=backend))
    assert invalid.value.attributes["key"] == "blobs.backend"


def test_a_directory_that_cannot_be_made_is_reported(fabric: Fabric, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(BlobStoreUnavailable):
        JetStreamBlobs(fabric.connection, BlobsConfig(backend=(tmp_path / "file" / "x").as_uri()))


async def test_an_object_store_that_does_not_answer_is_unavailable(
    fabric: Fabric, monkeypatch: pytest.MonkeyPatch
) -> None:
    _use_s3(monkeypatch, f"http://127.0.0.1:{free_port()}")
    fabric.connection.config = msgspec.structs.replace(fabric.connection.config, retry_for=0.5)
    blobs = _beside(fabric, "s3://bucket")
    for attempt in (blobs.put(TENANT, LARGE), blobs.get(TENANT, BlobRef.of(LARGE))):
        with pytest.raises(BlobStoreUnavailable) as gone:
            await attempt
        assert gone.value.retryable
