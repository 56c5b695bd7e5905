"""The contract of tasks and dead letters, on every adapter."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from penstock.fabric.errors import IllegalName
from penstock.fabric.jetstream.deadletters import Collector, JetStreamDeadLetters
from penstock.fabric.ports.deadletters import DeadLetter
from penstock.fabric.ports.delivery import Received
from penstock.fabric.ports.tasks import Task, TaskQueue
from penstock.kit.ids import new_id
from penstock.testkit.eventually import eventually
from tests.contract.rig import Rig

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.parametrize("rig", ["memory", "jetstream", "cluster"], indirect=True),
]


def task(number: int = 0, *, queue: str = "mail") -> Task:
    return Task("acme", queue, f"{new_id()}-1", f"task {number}".encode(), {"Ps-Trace": str(number)})


@asynccontextmanager
async def worker(rig: Rig, queue: str = "mail", window: int = 512) -> AsyncIterator[TaskQueue]:
    tasks = await rig.tasks.open("acme", queue, window=window)
    try:
        yield tasks
    finally:
        await tasks.stop()


async def take(tasks: TaskQueue, limit: int = 100) -> Sequence[Received]:
    async with asyncio.timeout(15):
        return await tasks.take(limit)


async def test_a_task_reaches_a_worker_with_its_headers(rig: Rig) -> None:
    sent = task(7)
    assert await rig.tasks.publish(sent)
    async with worker(rig) as tasks:
        (received,) = await take(tasks)
        assert (received.data, received.headers["Ps-Trace"], received.deliveries) == (b"task 7", "7", 1)
        assert rig.names.queue_of(received.subject) == ("acme", "mail", sent.id)
        await received.ack_confirmed()
    await eventually(lambda: _gone(rig, sent))


async def test_a_task_is_refused_while_it_is_queued_or_leased_and_welcome_after(rig: Rig) -> None:
    sent = task()
    assert await rig.tasks.publish(sent)
    assert not await rig.tasks.publish(sent)
    async with worker(rig) as tasks:
        (received,) = await take(tasks)
        assert not await rig.tasks.publish(sent)
        await received.ack_confirmed()
        await eventually(lambda: _gone(rig, sent))  # on a cluster the stream follows its consumer a moment later
        assert await rig.tasks.publish(sent)


async def test_many_tasks_at_once_each_have_their_own_outcome(rig: Rig) -> None:
    repeated = task()
    await rig.tasks.publish(repeated)
    illegal = Task("acme", "no spaces", "t-1", b"")
    outcomes = await rig.tasks.publish_many([task(), repeated, illegal, task()])
    assert outcomes[:2] == [True, False]
    assert isinstance(outcomes[2], IllegalName)
    assert outcomes[3] is True


async def test_a_queued_task_is_found_and_purged_by_its_id(rig: Rig) -> None:
    sent = task(3)
    await rig.tasks.publish(sent)
    assert await rig.tasks.find("acme", "mail", sent.id) == b"task 3"
    assert await rig.tasks.purge("acme", "mail", sent.id)
    assert not await rig.tasks.purge("acme", "mail", sent.id)
    assert await rig.tasks.publish(sent)


async def test_queues_and_tenants_do_not_mix(rig: Rig) -> None:
    await rig.tasks.publish(task(1, queue="mail"))
    await rig.tasks.publish(task(2, queue="mail.eu"))
    await rig.tasks.publish(Task("acme_mail", "x", "t-1", b"task 3"))
    async with worker(rig, "mail.eu") as tasks:
        assert [received.data for received in await take(tasks)] == [b"task 2"]


async def test_what_is_handed_back_comes_again(rig: Rig) -> None:
    await rig.tasks.publish(task())
    async with worker(rig) as tasks:
        (received,) = await take(tasks)
        await received.nak()
        (again,) = await take(tasks)
        assert again.deliveries == 2
        await again.ack()


async def test_what_is_handed_back_with_a_delay_comes_after_it(rig: Rig) -> None:
    await rig.tasks.publish(task())
    async with worker(rig) as tasks:
        (received,) = await take(tasks)
        before = rig.monotonic()
        await received.nak(delay=0.5)
        waiting = asyncio.create_task(take(tasks))
        await rig.pass_time(0.5)
        (again,) = await waiting
        assert rig.monotonic() - before >= 0.5
        await again.ack()


async def test_a_refused_task_never_comes_again(rig: Rig) -> None:
    poison, healthy = task(1), task(2)
    await rig.tasks.publish(poison)
    async with worker(rig) as tasks:
        (received,) = await take(tasks)
        await received.term()
        await rig.tasks.publish(healthy)
        assert [other.data for other in await take(tasks)] == [b"task 2"]


async def test_what_a_dead_worker_had_goes_to_another_when_its_lease_is_over(rig: Rig) -> None:
    await rig.tasks.publish(task())
    async with worker(rig) as dying:
        (received,) = await take(dying)
    async with worker(rig) as heir:
        waiting = asyncio.create_task(take(heir))
        await rig.pass_time(rig.config.task_ack_wait)
        (again,) = await waiting
        assert (again.sequence, again.deliveries) == (received.sequence, 2)
        await again.ack()


async def test_a_lease_is_extended_while_the_worker_works(rig: Rig) -> None:
    await rig.tasks.publish(task(1))
    async with worker(rig) as tasks:
        (received,) = await take(tasks)
        with tasks.hold(received):
            await rig.pass_time(2.5 * rig.config.task_ack_wait)
            await rig.tasks.publish(task(2))
            assert [other.data for other in await take(tasks)] == [b"task 2"]
        await received.ack()


async def test_what_is_in_hand_when_a_worker_stops_is_kept_until_it_is_done(rig: Rig) -> None:
    await rig.tasks.publish(task(1))
    async with worker(rig) as stopping, worker(rig) as other:
        (received,) = await take(stopping)
        with stopping.hold(received):
            await stopping.stop()
            await rig.pass_time(2.5 * rig.config.task_ack_wait)
            await rig.tasks.publish(task(2))
            assert [another.data for another in await take(other)] == [b"task 2"]
        await received.ack()


async def test_tasks_not_taken_go_back_when_a_worker_stops(rig: Rig) -> None:
    await rig.tasks.publish_many([task(number) for number in range(10)])
    async with worker(rig) as first:
        (received,) = await take(first, 1)
        await received.ack()
    async with worker(rig) as second:
        seen: set[bytes] = set()
        while len(seen) < 9:
            for other in await take(second):
                seen.add(other.data)
                await other.ack()
    assert b"task 0" not in seen


async def test_a_slow_worker_is_not_flooded(rig: Rig) -> None:
    await rig.tasks.publish_many([task(number) for number in range(200)])
    async with worker(rig, window=10) as slow, worker(rig, window=512) as fast:
        first = await take(slow, 1)
        taken = len(first)
        while taken < 200 - 10:
            taken += len(await take(fast))
        assert taken >= 190


async def test_a_task_delivered_too_often_becomes_a_dead_letter_with_its_cause(rig: Rig) -> None:
    sent = task(9)
    await rig.tasks.publish(sent)
    collecting = asyncio.create_task(_collect(rig))
    try:
        async with worker(rig) as tasks:
            for delivery in range(1, rig.config.task_max_deliver + 1):
                (received,) = await take(tasks)
                assert received.deliveries == delivery
                await received.nak()

            async def buried() -> DeadLetter | None:
                return await rig.dead_letters.load("acme", "mail", sent.id)

            letter = await eventually(buried, timeout=15)
        assert letter is not None
        assert (letter.body, letter.deliveries) == (b"task 9", rig.config.task_max_deliver)
        assert letter.headers["Ps-Trace"] == "9"
        await eventually(lambda: _gone(rig, sent))
        assert await rig.tasks.publish(sent)
    finally:
        collecting.cancel()


async def test_dead_letters_are_listed_in_order_and_dropped_by_id(rig: Rig) -> None:
    for number in range(3):
        await rig.dead_letters.bury(DeadLetter("acme", f"q{number % 2}", f"t-{number}", "boom", b"", rig.now()))
    listed = [letter.id async for letter in rig.dead_letters.list("acme")]
    assert listed == ["t-0", "t-1", "t-2"]
    assert [letter.id async for letter in rig.dead_letters.list("acme", "q1")] == ["t-1"]
    assert await rig.dead_letters.drop("acme", "q1", "t-1")
    assert not await rig.dead_letters.drop("acme", "q1", "t-1")
    assert [letter.id async for letter in rig.dead_letters.list("acme")] == ["t-0", "t-2"]


async def test_burying_twice_is_burying_once(rig: Rig) -> None:
    first = DeadLetter("acme", "q", "t-1", "the first cause", b"", rig.now())
    await rig.dead_letters.bury(first)
    await rig.dead_letters.bury(DeadLetter("acme", "q", "t-1", "another", b"", rig.now()))
    assert await rig.dead_letters.load("acme", "q", "t-1") == first


async def _collect(rig: Rig) -> None:
    if rig.connection is not None:
        await Collector(rig.connection, JetStreamDeadLetters(rig.connection), rig.now).run()


async def _gone(rig: Rig, sent: Task) -> bool:
    return await rig.tasks.find("acme", "mail", sent.id) is None
