"""Idempotency keys: in memory and on JetStream."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import msgspec
import pytest

from penstock.fabric.errors import (
    ClaimLost,
    IdempotencyConflict,
    IllegalKey,
    IllegalName,
    TooLarge,
    Unavailable,
    Undecodable,
)
from penstock.fabric.jetstream.bucket import Bucket
from penstock.fabric.jetstream.idempotency import JetStreamIdempotency, _name
from penstock.fabric.ports.idempotency import RESULT_LIMIT, Claim, Done, Idempotency, Pending, Won
from penstock.kit.clock import now
from penstock.testkit.clock import VirtualClock
from penstock.testkit.eventually import eventually
from penstock.testkit.memory.idempotency import MemoryIdempotency
from tests.contract.conftest import Fabric, OwnServer

TENANT, KEY = "acme", "order 17: pay"
BODY, OTHER_BODY = b"digest of a request", b"digest of another"
LONG = 600.0


@pytest.fixture(params=["memory", "jetstream"])
def idempotency(request: pytest.FixtureRequest) -> Idempotency:
    if request.param == "memory":
        return MemoryIdempotency(VirtualClock().now)
    fabric: Fabric = request.getfixturevalue("fabric")
    return JetStreamIdempotency(fabric.connection, fabric.config)


async def _win(idempotency: Idempotency, key: str = KEY, *, lease: float = LONG) -> Won:
    claim = await idempotency.claim(TENANT, key, BODY, lease=lease)
    assert isinstance(claim, Won)
    return claim


# -- every adapter


async def test_a_key_nobody_used_is_absent(idempotency: Idempotency) -> None:
    assert await idempotency.read(TENANT, KEY) is None


async def test_the_winner_completes_and_everyone_reads_the_result(idempotency: Idempotency) -> None:
    won = await _win(idempotency)
    await idempotency.complete(won, b"paid")
    assert await idempotency.claim(TENANT, KEY, BODY, lease=LONG) == Done(b"paid")
    assert await idempotency.read(TENANT, KEY) == Done(b"paid")


async def test_an_empty_result_is_a_result(idempotency: Idempotency) -> None:
    await idempotency.complete(await _win(idempotency), b"")
    assert await idempotency.read(TENANT, KEY) == Done(b"")


async def test_while_one_is_at_it_the_others_are_told_to_wait(idempotency: Idempotency) -> None:
    await _win(idempotency)
    assert isinstance(await idempotency.claim(TENANT, KEY, BODY, lease=LONG), Pending)
    assert isinstance(await idempotency.read(TENANT, KEY), Pending)


async def test_of_many_claimers_one_wins(idempotency: Idempotency) -> None:
    claims: list[Claim] = await asyncio.gather(*(idempotency.claim(TENANT, KEY, BODY, lease=LONG) for _ in range(30)))
    assert sorted(type(claim).__name__ for claim in claims) == ["Pending"] * 29 + ["Won"]


async def test_a_key_used_for_another_request_is_a_conflict(idempotency: Idempotency) -> None:
    won = await _win(idempotency)
    for _ in range(2):  # pending, then done
        with pytest.raises(IdempotencyConflict) as conflict:
            await idempotency.claim(TENANT, KEY, OTHER_BODY, lease=LONG)
        assert conflict.value.attributes["key"] == KEY
        await idempotency.complete(won, b"paid")


async def test_tenants_and_keys_are_apart(idempotency: Idempotency) -> None:
    await _win(idempotency)
    assert isinstance(await idempotency.claim("other", KEY, OTHER_BODY, lease=LONG), Won)
    assert isinstance(await idempotency.claim(TENANT, KEY + " ", OTHER_BODY, lease=LONG), Won)


async def test_a_released_key_can_be_won_at_once(idempotency: Idempotency) -> None:
    first = await _win(idempotency)
    await idempotency.release(first)
    assert await idempotency.read(TENANT, KEY) is None
    second = await idempotency.claim(TENANT, KEY, OTHER_BODY, lease=LONG)
    assert isinstance(second, Won)
    await idempotency.release(first)
    with pytest.raises(ClaimLost):
        await idempotency.complete(first, b"late")
    await idempotency.complete(second, b"paid")
    assert await idempotency.read(TENANT, KEY) == Done(b"paid")


async def test_a_release_after_the_result_takes_nothing_back(idempotency: Idempotency) -> None:
    won = await _win(idempotency)
    await idempotency.complete(won, b"paid")
    await idempotency.release(won)
    assert await idempotency.read(TENANT, KEY) == Done(b"paid")


async def test_completing_twice_keeps_the_first_result(idempotency: Idempotency) -> None:
    won = await _win(idempotency)
    await idempotency.complete(won, b"paid")
    await idempotency.complete(won, b"paid again")
    assert await idempotency.read(TENANT, KEY) == Done(b"paid")


@pytest.mark.parametrize("key", ["", "x" * 513, "\ud800"], ids=["empty", "long", "half a character"])
async def test_what_is_no_key_is_refused(idempotency: Idempotency, key: str) -> None:
    with pytest.raises(IllegalKey):
        await idempotency.claim(TENANT, key, BODY, lease=LONG)
    with pytest.raises(IllegalKey):
        await idempotency.read(TENANT, key)


async def test_a_key_may_hold_any_text(idempotency: Idempotency) -> None:
    for key in ("a.b.*.>", "é ☃", "\r\n\0", " ", "x" * 512):
        await idempotency.complete(await _win(idempotency, key), key.encode())
        assert await idempotency.read(TENANT, key) == Done(key.encode())


async def test_a_tenant_that_could_reach_another_is_refused(idempotency: Idempotency) -> None:
    for tenant in ("", "*", "a.>", "a b", "x" * 65):
        with pytest.raises(IllegalName):
            await idempotency.claim(tenant, KEY, BODY, lease=LONG)


async def test_sizes_are_bounded(idempotency: Idempotency) -> None:
    with pytest.raises(TooLarge):
        await idempotency.claim(TENANT, KEY, b"x" * 65, lease=LONG)
    won = await _win(idempotency)
    with pytest.raises(TooLarge):
        await idempotency.complete(won, bytes(RESULT_LIMIT + 1))
    await idempotency.complete(won, bytes(RESULT_LIMIT))
    assert await idempotency.read(TENANT, KEY) == Done(bytes(RESULT_LIMIT))


# -- time


class Fleeting(NamedTuple):
    """Results live for one second."""

    idempotency: Idempotency
    expiry: Callable[[], Awaitable[None]]


@pytest.fixture(params=["memory", pytest.param("jetstream", marks=pytest.mark.slow)])
def fleeting(request: pytest.FixtureRequest) -> Fleeting:
    if request.param == "memory":
        clock = VirtualClock()
        memory = MemoryIdempotency(clock.now, ttl=1.0)

        async def advance() -> None:
            clock.advance(1.0)

        return Fleeting(memory, advance)
    fabric: Fabric = request.getfixturevalue("fabric")
    config = msgspec.structs.replace(fabric.config, idempotency_ttl=1.0)
    idempotency = JetStreamIdempotency(fabric.connection, config)

    async def wait() -> None:
        await eventually(lambda: _absent(idempotency))

    return Fleeting(idempotency, wait)


async def _absent(idempotency: Idempotency) -> bool:
    return await idempotency.read(TENANT, KEY) is None


async def test_the_claim_of_a_crashed_claimer_is_won_again_and_its_late_result_refused(fleeting: Fleeting) -> None:
    idempotency = fleeting.idempotency
    crashed = await _win(idempotency, lease=1.0)
    await fleeting.expiry()
    with pytest.raises(ClaimLost) as lost:
        await idempotency.complete(crashed, b"too late")
    assert lost.value.attributes["key"] == KEY
    again = await _win(idempotency)
    with pytest.raises(ClaimLost):
        await idempotency.complete(crashed, b"much too late")
    await idempotency.release(crashed)
    assert isinstance(await idempotency.read(TENANT, KEY), Pending)
    await idempotency.complete(again, b"paid")


async def test_a_result_is_forgotten_after_its_time(fleeting: Fleeting) -> None:
    idempotency = fleeting.idempotency
    await idempotency.complete(await _win(idempotency), b"paid")
    await fleeting.expiry()
    assert isinstance(await idempotency.claim(TENANT, KEY, OTHER_BODY, lease=LONG), Won)


# -- JetStream


@pytest.mark.slow
async def test_a_completed_claim_outlives_its_lease(fabric: Fabric) -> None:
    idempotency = JetStreamIdempotency(fabric.connection, fabric.config)
    won = await _win(idempotency, "kept", lease=1.0)
    await idempotency.complete(won, b"paid")
    await _win(idempotency, lease=1.0)
    await eventually(lambda: _absent(idempotency))
    assert await idempotency.read(TENANT, "kept") == Done(b"paid")


@pytest.mark.cluster
async def test_on_a_cluster_one_of_many_claimers_wins(cluster_fabric: Fabric) -> None:
    idempotency = JetStreamIdempotency(cluster_fabric.connection, cluster_fabric.config)
    for key in ("a", "b", "c"):
        claims: list[Claim] = await asyncio.gather(
            *(idempotency.claim(TENANT, key, BODY, lease=LONG) for _ in range(30))
        )
        assert sorted(type(claim).__name__ for claim in claims) == ["Pending"] * 29 + ["Won"]


async def test_a_claim_says_since_when(fabric: Fabric) -> None:
    idempotency = JetStreamIdempotency(fabric.connection, fabric.config)
    before = now()
    await _win(idempotency)
    pending = await idempotency.read(TENANT, KEY)
    assert isinstance(pending, Pending)
    assert before <= pending.since <= now()


@pytest.mark.slow
async def test_the_marker_of_an_expired_key_does_not_keep_it_taken(fabric: Fabric) -> None:
    """An operator may have turned on markers; nats-py's own bucket cannot create such a key again."""
    connection = fabric.connection
    stream = f"KV_{connection.names.idempotency}"
    config = (await connection.api(f"STREAM.INFO.{stream}"))["config"]
    marked = config | {"subject_delete_marker_ttl": 60_000_000_000}
    await connection.api(f"STREAM.UPDATE.{stream}", marked)
    idempotency = JetStreamIdempotency(connection, fabric.config)
    await _win(idempotency, lease=1.0)
    bucket = Bucket(connection, connection.names.idempotency)

    async def marker() -> bool:
        entry = await bucket.load(_name(TENANT, KEY))
        return entry.value is None and entry.revision > 0

    await eventually(marker)
    await idempotency.complete(await _win(idempotency), b"paid")
    assert await idempotency.read(TENANT, KEY) == Done(b"paid")


async def test_a_deleted_key_can_be_claimed(fabric: Fabric) -> None:
    idempotency = JetStreamIdempotency(fabric.connection, fabric.config)
    await _win(idempotency)
    await Bucket(fabric.connection, fabric.connection.names.idempotency).delete(_name(TENANT, KEY))
    assert await idempotency.read(TENANT, KEY) is None
    await idempotency.complete(await _win(idempotency), b"paid")


@pytest.mark.parametrize("record", [b"", b"\xff", msgspec.msgpack.encode({"v": 2})], ids=["empty", "bytes", "newer"])
async def test_a_record_that_is_none_is_undecodable(fabric: Fabric, record: bytes) -> None:
    idempotency = JetStreamIdempotency(fabric.connection, fabric.config)
    bucket = Bucket(fabric.connection, fabric.connection.names.idempotency)
    await bucket.save(_name(TENANT, KEY), record)
    with pytest.raises(Undecodable):
        await idempotency.claim(TENANT, KEY, BODY, lease=LONG)
    with pytest.raises(Undecodable):
        await idempotency.read(TENANT, KEY)
    assert (await bucket.load(_name(TENANT, KEY))).value == record


async def test_keys_survive_a_server_that_is_gone_and_back(own_server: OwnServer) -> None:
    idempotency = JetStreamIdempotency(own_server.fabric.connection, own_server.fabric.config)
    kept, given_up = await _win(idempotency), await _win(idempotency, "given up")
    with own_server.gone():
        for attempt in (
            idempotency.claim(TENANT, "other", BODY, lease=LONG),
            idempotency.complete(kept, b"paid"),
            idempotency.release(given_up),
            idempotency.read(TENANT, KEY),
        ):
            with pytest.raises(Unavailable) as gone:
                await attempt
            assert gone.value.retryable
    # Whether the first tries arrived or not, they may be repeated.
    await idempotency.complete(kept, b"paid")
    await idempotency.release(given_up)
    assert await idempotency.read(TENANT, KEY) == Done(b"paid")
    assert await idempotency.read(TENANT, "given up") is None
