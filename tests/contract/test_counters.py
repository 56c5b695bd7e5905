"""Counters: in memory and on JetStream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, NamedTuple, cast

import pytest

from penstock.embedded.nats import NatsServer
from penstock.fabric.errors import (
    IllegalIncrement,
    IllegalKey,
    IllegalName,
    RequestRefused,
    Unavailable,
    Undecodable,
)
from penstock.fabric.jetstream.counters import JetStreamCounters
from penstock.fabric.naming import Names
from penstock.fabric.ports.counters import CounterKey, Counters, Divergence, Increment
from penstock.testkit.clock import VirtualClock
from penstock.testkit.eventually import eventually
from penstock.testkit.memory.counters import MemoryCounters
from tests.contract.conftest import Fabric, OwnServer, install

RUNS = CounterKey("acme", "runs.open")
TOKENS = CounterKey("acme", "tokens")


@pytest.fixture(params=["memory", "jetstream"])
def counters(request: pytest.FixtureRequest) -> Counters:
    if request.param == "memory":
        return MemoryCounters(VirtualClock().now)
    fabric: Fabric = request.getfixturevalue("fabric")
    return JetStreamCounters(fabric.connection)


# -- every adapter


async def test_a_counter_begins_at_zero(counters: Counters) -> None:
    assert await counters.read(RUNS) == 0
    assert await counters.read_many([RUNS, TOKENS]) == {RUNS: 0, TOKENS: 0}
    assert await counters.read_many([]) == {}


async def test_increments_add_up_and_give_the_value(counters: Counters) -> None:
    amounts = [3, -5, 0, 10**40, -(10**40)]
    values = [await counters.add(RUNS, amount, operation=f"op {i}") for i, amount in enumerate(amounts)]
    assert values == [3, -2, -2, 10**40 - 2, -2]
    assert await counters.read(RUNS) == -2


async def test_a_repeated_operation_counts_once(counters: Counters) -> None:
    for _ in range(3):
        assert await counters.add(RUNS, 2, operation="commit 1") == 2
    assert await counters.add(RUNS, 1, operation="commit 2") == 3
    assert await counters.add(RUNS, 2, operation="commit 1") == 3


async def test_one_operation_may_change_several_counters(counters: Counters) -> None:
    elsewhere = CounterKey("other", RUNS.name)
    for key in (RUNS, TOKENS, elsewhere):
        assert await counters.add(key, 1, operation="commit 1") == 1


async def test_a_dot_in_a_tenant_does_not_reach_into_another(counters: Counters) -> None:
    await counters.add(CounterKey("a.b", "c"), 1, operation="1")
    assert await counters.read(CounterKey("a", "b.c")) == 0


async def test_many_writers_lose_nothing(counters: Counters) -> None:
    operations = [f"op {i % 100}" for i in range(200)]
    await asyncio.gather(*(counters.add(RUNS, 1, operation=operation) for operation in operations))
    assert await counters.read(RUNS) == 100


async def test_many_increments_go_at_once_and_may_all_be_repeated(counters: Counters) -> None:
    increments = [Increment((RUNS, TOKENS)[i % 2], i, f"op {i}") for i in range(1000)]
    expected = {key: sum(i.amount for i in increments if i.key == key) for key in (RUNS, TOKENS)}
    values = await counters.add_many(increments)
    assert [values[0], values[1]] == [0, 1]
    assert {RUNS: values[-2], TOKENS: values[-1]} == expected
    assert set(await counters.add_many(increments)) == set(expected.values())
    assert await counters.read_many([RUNS, TOKENS]) == expected
    assert await counters.add_many([]) == []


async def test_a_watcher_sees_the_value_and_then_each_change(counters: Counters) -> None:
    await counters.add(RUNS, 1, operation="1")
    await counters.add(RUNS, 1, operation="2")
    async with aclosing(cast("Any", counters.watch(RUNS))) as values:
        assert await anext(values) == 2
        await counters.add(TOKENS, 50, operation="3")
        await counters.add(RUNS, 1, operation="2")
        await counters.add(RUNS, 5, operation="4")
        assert await anext(values) == 7


async def test_a_watcher_may_come_before_the_counter(counters: Counters) -> None:
    async with aclosing(cast("Any", counters.watch(RUNS))) as values:
        first = asyncio.create_task(anext(values))
        await counters.add(RUNS, 4, operation="1")
        assert await first == 4


async def test_a_counter_that_went_astray_is_found_and_put_right(counters: Counters) -> None:
    await counters.add(RUNS, 3, operation="1")
    assert await counters.compare(RUNS, 3) is None
    found = await counters.compare(RUNS, 10)
    assert found == Divergence(RUNS, expected=10, actual=3)
    await counters.add(RUNS, found.correction, operation="heal")
    assert await counters.compare(RUNS, 10) is None
    assert await counters.compare(TOKENS, 0) is None


async def test_trimming_forgets_nothing_inside_the_window(counters: Counters) -> None:
    for i in range(5):
        await counters.add(RUNS, 1, operation=str(i))
    assert await counters.trim() == 0
    assert await counters.add(RUNS, 1, operation="0") == 5


@pytest.mark.parametrize(
    "amount",
    [1.5, True, "5", None, float("nan"), 10**64, -(10**5000)],
    ids=["fraction", "bool", "text", "none", "nan", "huge", "beyond"],
)
async def test_what_is_no_whole_number_is_refused(counters: Counters, amount: Any) -> None:  # noqa: ANN401 - nonsense
    with pytest.raises(IllegalIncrement):
        await counters.add(RUNS, amount, operation="1")
    with pytest.raises(IllegalIncrement):
        await counters.add_many([Increment(RUNS, 1, "2"), Increment(RUNS, amount, "1")])
    with pytest.raises(IllegalName):
        await counters.add_many([Increment(RUNS, 1, "2"), Increment(CounterKey("", ""), 1, "1")])
    assert await counters.read(RUNS) == 0


@pytest.mark.parametrize("operation", ["", "x" * 513, "\ud800"], ids=["empty", "long", "half a character"])
async def test_what_is_no_key_is_refused(counters: Counters, operation: str) -> None:
    with pytest.raises(IllegalKey):
        await counters.add(RUNS, 1, operation=operation)


async def test_an_operation_key_may_hold_any_text(counters: Counters) -> None:
    for i, operation in enumerate(["a\r\nNats-Incr: +100\r\n", "é ☃", "\0", " ", "x" * 512], start=1):
        for _ in range(2):
            assert await counters.add(RUNS, 1, operation=operation) == i


ILLEGAL = [("", "x"), ("a", ""), ("a*", "x"), ("a", ">"), ("a", "x..y"), ("a", ".x"), ("a", "x y"), ("a", "x" * 257)]


async def test_a_counter_that_could_reach_another_is_refused(counters: Counters) -> None:
    for tenant, name in ILLEGAL:
        key = CounterKey(tenant, name)
        with pytest.raises(IllegalName):
            await counters.add(key, 1, operation="1")
        with pytest.raises(IllegalName):
            await counters.read(key)
        with pytest.raises(IllegalName):
            await counters.read_many([key])
        with pytest.raises(IllegalName):
            await anext(cast("Any", counters.watch(key)))


# -- trimming


class Trimmed(NamedTuple):
    counters: Counters
    window_passes: Callable[[], Awaitable[None]]


@pytest.fixture(params=["memory", pytest.param("jetstream", marks=pytest.mark.slow)])
async def trimmed(request: pytest.FixtureRequest, nats_server: NatsServer) -> AsyncIterator[Trimmed]:
    if request.param == "memory":
        clock = VirtualClock()

        async def advance() -> None:
            clock.advance(1.5)

        yield Trimmed(MemoryCounters(clock.now, window=1.0), advance)
        return
    async with install(nats_server, counter_window=1.0) as fabric:
        counters = JetStreamCounters(fabric.connection)

        async def wait() -> None:
            """Until the server takes an id of now again."""
            probe = CounterKey("probe", "x")
            await counters.add(probe, 1, operation="x")
            await eventually(lambda: _is(counters.add(probe, 1, operation="x"), 2))

        yield Trimmed(counters, wait)


async def _is(value: Awaitable[int], expected: int) -> bool:
    return await value == expected


async def test_trimming_keeps_the_values(trimmed: Trimmed) -> None:
    counters = trimmed.counters
    await counters.add_many([Increment(RUNS, 1, str(i)) for i in range(5)])
    await counters.add(TOKENS, 7, operation="only")
    await trimmed.window_passes()
    await counters.add(RUNS, 1, operation="late")
    assert await counters.trim() >= 4
    assert await counters.read_many([RUNS, TOKENS]) == {RUNS: 6, TOKENS: 7}
    assert await counters.add(RUNS, 1, operation="later") == 7
    assert await counters.add(TOKENS, 1, operation="next") == 8


@pytest.mark.slow
async def test_trimming_leaves_one_message_for_each_quiet_counter(nats_server: NatsServer) -> None:
    async with install(nats_server, counter_window=0.2) as fabric:
        counters = JetStreamCounters(fabric.connection)
        keys = [CounterKey("acme", f"c{i}") for i in range(20)]
        await counters.add_many([Increment(key, 1, str(i)) for key in keys for i in range(5)])
        removed = 0

        async def all_removed() -> bool:
            nonlocal removed
            removed += await counters.trim()
            return removed == 80

        await eventually(all_removed)
        assert await counters.trim() == 0
        assert set((await counters.read_many(keys)).values()) == {5}


# -- JetStream


async def test_any_key_value_client_can_read_a_counter(fabric: Fabric) -> None:
    await JetStreamCounters(fabric.connection).add(RUNS, 3, operation="1")
    bucket = await fabric.connection.client.jetstream().key_value(fabric.connection.names.counters)
    assert (await bucket.get("acme.runs.open")).value == b'{"val":"3"}'


@pytest.mark.parametrize("crash", [False, True], ids=["restart", "crash"])
async def test_a_repeated_operation_counts_once_over_a_restart_of_the_server(
    own_server: OwnServer, *, crash: bool
) -> None:
    counters = JetStreamCounters(own_server.fabric.connection)
    increments = [Increment(RUNS, 1, str(i)) for i in range(20)]
    await counters.add_many(increments)
    await counters.trim()
    await own_server.restart(crash=crash)
    await counters.add_many(increments)
    assert await counters.read(RUNS) == 20


async def test_counters_wait_for_a_server_that_is_gone_and_go_on_when_it_is_back(own_server: OwnServer) -> None:
    counters = JetStreamCounters(own_server.fabric.connection)
    increments = [Increment(RUNS, 1, str(i)) for i in range(3)]
    await counters.add_many(increments)
    with own_server.gone():
        for attempt in (
            counters.add(RUNS, 1, operation="gone"),
            counters.add_many([*increments, Increment(TOKENS, 1, "gone")]),
            counters.read(RUNS),
            counters.read_many([RUNS]),
            counters.trim(),
        ):
            with pytest.raises(Unavailable) as gone:
                await attempt
            assert gone.value.retryable
    assert await counters.add(RUNS, 1, operation="gone") == 4
    assert await counters.add_many(increments) == [4, 4, 4]


@pytest.mark.slow
async def test_a_watcher_outlives_a_restart_of_the_server(own_server: OwnServer) -> None:
    counters = JetStreamCounters(own_server.fabric.connection)
    await counters.add(RUNS, 1, operation="1")
    async with aclosing(cast("Any", counters.watch(RUNS))) as values:
        assert await anext(values) == 1
        await own_server.restart(crash=True)
        await counters.add(RUNS, 1, operation="2")
        assert await anext(values) == 2


@pytest.mark.cluster
async def test_on_a_cluster_many_writers_lose_nothing(cluster_fabric: Fabric) -> None:
    counters = JetStreamCounters(cluster_fabric.connection)
    increments = [Increment(RUNS, 1, str(i % 100)) for i in range(200)]
    await asyncio.gather(counters.add_many(increments), counters.add_many(increments))
    assert await counters.read(RUNS) == 100


@pytest.fixture
async def not_counting(fabric: Fabric) -> JetStreamCounters:
    """On a bucket that somebody made by hand."""
    connection = fabric.connection
    names = Names(f"{connection.names.prefix}x", 2)
    stream = {"name": f"KV_{names.counters}", "subjects": [f"$KV.{names.counters}.>"], "allow_direct": True}
    await connection.api(f"STREAM.CREATE.KV_{names.counters}", stream)
    connection.names = names
    return JetStreamCounters(connection)


async def test_a_bucket_that_cannot_count_refuses(not_counting: JetStreamCounters) -> None:
    with pytest.raises(RequestRefused):
        await not_counting.add(RUNS, 1, operation="1")


@pytest.mark.parametrize(
    "body",
    [b"", b"\xff", b"3", b'{"val": "three"}', b'{"val": "' + b"9" * 5000 + b'"}'],
    ids=["empty", "bytes", "number", "word", "endless"],
)
async def test_a_value_that_is_none_is_undecodable(
    fabric: Fabric, not_counting: JetStreamCounters, body: bytes
) -> None:
    await fabric.connection.write(not_counting._subject(RUNS), body, None, "nonsense")
    with pytest.raises(Undecodable):
        await not_counting.read(RUNS)
    with pytest.raises(Undecodable):
        await not_counting.read_many([RUNS])
