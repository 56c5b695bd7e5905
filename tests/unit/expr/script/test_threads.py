"""Blocking calls in threads: what comes back, and what becomes of calls that are given up."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from threading import Barrier, Event, current_thread

import pytest

from penstock.expr.script.threads import Threads


@pytest.fixture
def threads() -> Iterator[Threads]:
    threads = Threads(2, "blocking")
    yield threads
    threads.close()


async def test_a_call_gives_what_it_returns_and_raises_what_it_raises(threads: Threads) -> None:
    assert await threads.call(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        await threads.call(divmod, 7, 0)


async def test_calls_run_side_by_side_in_no_more_threads_than_allowed(threads: Threads) -> None:
    meeting = Barrier(2)
    await asyncio.gather(*(threads.call(meeting.wait, 10) for _ in range(2)))
    names = await asyncio.gather(*(threads.call(lambda: current_thread().name) for _ in range(20)))
    assert set(names) <= {"blocking-0", "blocking-1"}


async def test_a_call_given_up_while_it_waits_never_runs(threads: Threads) -> None:
    release, ran = Event(), Event()
    busy = [asyncio.create_task(threads.call(release.wait, 10)) for _ in range(2)]
    waiting = asyncio.create_task(threads.call(ran.set))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    release.set()
    assert await asyncio.gather(*busy) == [True, True]
    await threads.call(int)
    assert not ran.is_set()


async def test_closing_waits_for_a_call_that_was_given_up(threads: Threads) -> None:
    begun, release, done = Event(), Event(), Event()

    def work() -> None:
        begun.set()
        release.wait(10)
        done.set()

    given_up = asyncio.create_task(threads.call(work))
    await asyncio.to_thread(begun.wait, 10)
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    release.set()
    await asyncio.to_thread(threads.close)
    assert done.is_set()
