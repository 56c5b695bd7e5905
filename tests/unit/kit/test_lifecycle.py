from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import aiohttp
import pytest
import structlog

from penstock.kit import lifecycle
from penstock.kit.config import Config, ServiceConfig, TelemetryConfig
from penstock.kit.errors import AddressUnavailable
from penstock.kit.lifecycle import FAILED, STOPPED, Service
from penstock.testkit.eventually import eventually


class Story:
    """What happened, in order."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    @asynccontextmanager
    async def resource(self, name: str) -> AsyncIterator[None]:
        self.lines.append(f"open {name}")
        try:
            yield
        finally:
            self.lines.append(f"close {name}")

    def drain(self, name: str) -> Callable[[], Awaitable[None]]:
        async def hook() -> None:
            self.lines.append(f"stop {name}")
            await asyncio.sleep(0)
            self.lines.append(f"finished {name}")

        return hook


async def forever() -> None:
    await asyncio.Event().wait()


def service(grace: float = 5.0) -> Service:
    return Service("test", Config(service=ServiceConfig(grace=grace)))


async def test_a_service_starts_in_order_drains_together_and_closes_in_reverse() -> None:
    story, running = Story(), service()

    async def start(starting: Service) -> None:
        for name in ("nats", "puller"):
            await starting.enter(story.resource(name))
            starting.on_drain(story.drain(name))
        starting.spawn(forever(), "background")
        starting.stop()

    assert await running.run(start) == STOPPED
    assert story.lines == [
        *("open nats", "open puller"),
        *("stop nats", "stop puller", "finished nats", "finished puller"),
        *("close puller", "close nats"),
    ]


async def test_readiness_ends_before_anything_stops() -> None:
    running = service()
    phases = []

    async def start(starting: Service) -> None:
        phases.append(starting.health.phase)

        async def hook() -> None:
            phases.append(starting.health.phase)

        async def stop_when_serving() -> None:
            await eventually(lambda: starting.health.phase != "starting")
            phases.append(starting.health.phase)
            starting.stop()
            phases.append(starting.health.phase)

        starting.on_drain(hook)
        starting.spawn(stop_when_serving(), "stop")

    assert await running.run(start) == STOPPED
    assert phases == ["starting", "serving", "draining", "draining"]


async def test_a_failing_background_task_brings_the_service_down_and_says_which() -> None:
    story, running = Story(), service()

    async def fail() -> None:
        raise OSError("gone")

    async def start(starting: Service) -> None:
        await starting.enter(story.resource("nats"))
        starting.spawn(fail(), "puller")

    with structlog.testing.capture_logs() as lines:
        assert await running.run(start) == FAILED
    (failure,) = [line for line in lines if line["event"] == "service.failed"]
    assert failure["step"] == "task puller"
    assert isinstance(failure["exc_info"], OSError)
    assert story.lines == ["open nats", "close nats"]


async def test_a_task_that_ends_by_itself_is_no_failure() -> None:
    running = service()

    async def start(starting: Service) -> None:
        starting.spawn(asyncio.sleep(0), "short")
        starting.spawn(stop_after(starting), "stop")

    async def stop_after(starting: Service) -> None:
        for _ in range(5):
            await asyncio.sleep(0)
        starting.stop()

    assert await running.run(start) == STOPPED


async def test_a_start_that_fails_closes_what_was_open() -> None:
    story, running = Story(), service()

    async def start(starting: Service) -> None:
        await starting.enter(story.resource("nats"))
        raise AddressUnavailable(host="h", port=1, reason="r")

    assert await running.run(start) == FAILED
    assert story.lines == ["open nats", "close nats"]
    assert running.health.phase == "draining"


async def test_a_service_can_be_stopped_while_it_starts() -> None:
    story, running = Story(), service()

    async def start(starting: Service) -> None:
        await starting.enter(story.resource("nats"))
        starting.stop()
        await forever()

    assert await running.run(start) == STOPPED
    assert story.lines == ["open nats", "close nats"]


async def test_work_that_does_not_finish_in_its_grace_is_left_and_counts_as_failure() -> None:
    story, running = Story(), service(grace=0.001)

    async def start(starting: Service) -> None:
        await starting.enter(story.resource("nats"))
        starting.on_drain(forever)
        starting.stop()

    assert await running.run(start) == FAILED
    assert story.lines == ["open nats", "close nats"]


async def test_a_task_that_does_not_let_itself_be_ended_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "CLOSE_WITHIN", 0.01)
    running, release = service(), asyncio.Event()

    async def stubborn() -> None:
        while not release.is_set():
            with suppress(asyncio.CancelledError):
                await release.wait()

    async def start(starting: Service) -> None:
        starting.spawn(stubborn(), "stubborn")
        await asyncio.sleep(0)
        starting.stop()

    with structlog.testing.capture_logs() as lines:
        assert await running.run(start) == FAILED
    release.set()
    assert [line["step"] for line in lines if line["event"] == "service.failed"] == ["task stubborn"]


async def test_one_drain_or_close_that_fails_does_not_keep_the_others_from_theirs() -> None:
    story, running = Story(), service()

    async def fail() -> None:
        raise OSError("gone")

    @asynccontextmanager
    async def fails_to_close() -> AsyncIterator[None]:
        yield
        raise OSError("gone")

    async def start(starting: Service) -> None:
        await starting.enter(story.resource("nats"))
        await starting.enter(fails_to_close())
        starting.on_drain(fail)
        starting.on_drain(story.drain("puller"))
        starting.stop()

    assert await running.run(start) == FAILED
    assert story.lines == ["open nats", "stop puller", "finished puller", "close nats"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
async def test_a_signal_stops_the_service(number: signal.Signals) -> None:
    running = service()

    async def start(_starting: Service) -> None:
        os.kill(os.getpid(), number)

    assert await running.run(start) == STOPPED


async def test_health_and_metrics_answer_while_the_service_still_starts() -> None:
    running = service()
    statuses: list[int] = []

    async def start(starting: Service) -> None:
        port = next(line["telemetry_port"] for line in lines if line["event"] == "telemetry.listening")
        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:
            for path in ("/health/live", "/health/ready", "/metrics"):
                async with session.get(path) as response:
                    statuses.append(response.status)
        starting.stop()

    with structlog.testing.capture_logs() as lines:
        assert await running.run(start) == STOPPED
    assert statuses == [200, 503, 200]


async def test_a_telemetry_port_that_is_taken_is_a_failure() -> None:
    taken = await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0)
    async with taken:
        port = taken.sockets[0].getsockname()[1]
        running = Service("test", Config(telemetry=TelemetryConfig(port=port)))

        async def start(_starting: Service) -> None:
            pytest.fail("must not get here")

        assert await running.run(start) == FAILED
