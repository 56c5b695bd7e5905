from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable

import pytest

from penstock.embedded.errors import ServerNotFound
from penstock.embedded.program import Program
from penstock.embedded.supervisor import Backoff, Report, Status, Supervisor
from penstock.testkit.eventually import eventually
from penstock.testkit.processes import is_alive, process_id


class FakeChild:
    """A real process, small and quick."""

    def __init__(self, *argv: str, name: str = "child", ready: Callable[[], bool] = lambda: True) -> None:
        self.name = name
        self.argv = argv
        self.fails = 0
        self.started = 0
        self._ready = ready

    def program(self) -> Program:
        self.started += 1
        if self.fails and self.started > 1:
            self.fails -= 1
            raise ServerNotFound(server=self.name, extra="dev")
        return Program(self.argv)

    def ready(self, pid: int) -> bool:  # noqa: ARG002 - tests decide
        return self._ready()


class VirtualClock:
    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += seconds
        await asyncio.sleep(0)


class Seen:
    def __init__(self) -> None:
        self.reports: list[Report] = []
        self.lines: list[tuple[str, str]] = []

    def line(self, name: str, line: str) -> None:
        self.lines.append((name, line))

    def of(self, status: Status) -> list[Report]:
        return [report for report in self.reports if report.status == status]


@contextlib.asynccontextmanager
async def supervised(
    *children: FakeChild,
    seen: Seen,
    backoff: Backoff | None = None,
    clock: VirtualClock | None = None,
    grace: float = 10.0,
    patience: float = 30.0,
    on_change: Callable[[Report], None] = lambda _report: None,
) -> AsyncIterator[Supervisor]:
    def changed(report: Report) -> None:
        seen.reports.append(report)
        on_change(report)

    supervisor = Supervisor(
        children,
        on_line=seen.line,
        on_change=changed,
        backoff=backoff,
        clock=clock,
        grace=grace,
        patience=patience,
    )
    try:
        await supervisor.start()
        yield supervisor
    finally:
        await supervisor.stop()


NEVER_AGAIN = Backoff(first=3600, ceiling=3600)
SLEEPER = ("sleep", "300")
STUBBORN = ("sh", "-c", "trap '' TERM; echo up; while :; do sleep 1; done")


def test_a_pause_doubles_up_to_its_ceiling() -> None:
    backoff = Backoff(first=0.5, ceiling=3.0)
    assert [backoff.pause(failures) for failures in (1, 2, 3, 4, 1000)] == [0.5, 1.0, 2.0, 3.0, 3.0]


async def test_children_start_in_order_and_stop_in_reverse() -> None:
    seen = Seen()
    children = [FakeChild(*SLEEPER, name=name) for name in ("nats", "postgres", "gateway")]
    async with supervised(*children, seen=seen):
        assert [report.name for report in seen.of("ready")] == ["nats", "postgres", "gateway"]
    assert [report.name for report in seen.of("stopped")] == ["gateway", "postgres", "nats"]


async def test_stopping_leaves_no_process() -> None:
    seen = Seen()
    async with supervised(FakeChild(*SLEEPER), seen=seen) as supervisor:
        pid = supervisor.reports[0].pid
        assert pid is not None
        process = process_id(pid)
        assert is_alive(process)
    assert not is_alive(process)


async def test_a_killed_child_is_started_again() -> None:
    seen = Seen()
    async with supervised(FakeChild(*SLEEPER), seen=seen, clock=VirtualClock()) as supervisor:
        first = supervisor.reports[0].pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await eventually(lambda: len(seen.of("ready")) == 2)
        assert supervisor.reports[0].pid not in {None, first}
        assert supervisor.reports[0].restarts == 1


async def test_a_child_that_keeps_dying_is_started_ever_more_rarely() -> None:
    seen = Seen()
    child = FakeChild("sh", "-c", "exit 3", ready=lambda: False)
    backoff = Backoff(first=0.2, ceiling=1.0)
    async with supervised(child, seen=seen, backoff=backoff, clock=VirtualClock(), patience=0):
        await eventually(lambda: len(seen.of("waiting")) >= 5)
    assert [report.pause for report in seen.of("waiting")[:5]] == [0.2, 0.4, 0.8, 1.0, 1.0]
    assert all(report.reason for report in seen.of("waiting"))


async def test_failures_are_forgotten_once_a_child_was_ready_for_a_while() -> None:
    seen, clock = Seen(), VirtualClock()

    def crash_when_ready(report: Report) -> None:
        if report.status == "ready" and report.pid is not None:
            clock.time += 100.0 if len(seen.of("ready")) == 3 else 0.0
            os.kill(report.pid, signal.SIGKILL)

    async with supervised(
        FakeChild(*SLEEPER), seen=seen, backoff=Backoff(first=1.0), clock=clock, on_change=crash_when_ready
    ):
        await eventually(lambda: len(seen.of("waiting")) >= 4)
    assert [report.pause for report in seen.of("waiting")[:4]] == [1.0, 2.0, 1.0, 2.0]


async def test_a_child_that_ignores_sigterm_is_killed_after_the_grace() -> None:
    seen = Seen()
    child = FakeChild(*STUBBORN, ready=lambda: ("child", "up") in seen.lines)
    async with supervised(child, seen=seen, grace=0.05) as supervisor:
        pid = supervisor.reports[0].pid
        assert pid is not None
        process = process_id(pid)
    assert not is_alive(process)


async def test_hurry_kills_without_waiting_for_the_grace() -> None:
    seen = Seen()
    child = FakeChild(*STUBBORN, ready=lambda: ("child", "up") in seen.lines)
    async with asyncio.timeout(30), supervised(child, seen=seen, grace=3600) as supervisor:
        stopping = asyncio.create_task(supervisor.stop())
        await asyncio.sleep(0)
        supervisor.hurry()
        await stopping


async def test_a_pause_ends_when_we_stop() -> None:
    seen = Seen()
    child = FakeChild("sh", "-c", "exit 1", ready=lambda: False)
    async with asyncio.timeout(30), supervised(child, seen=seen, backoff=NEVER_AGAIN, patience=0):
        await eventually(lambda: seen.of("waiting"))
    assert child.started == 1


async def test_a_first_start_that_is_impossible_is_an_error() -> None:
    child = FakeChild("/nowhere/to/be/found")
    with pytest.raises(FileNotFoundError):
        async with supervised(child, seen=Seen()):
            pass


async def test_a_restart_that_is_impossible_for_now_is_tried_again() -> None:
    seen = Seen()
    child = FakeChild(*SLEEPER)
    child.fails = 2
    async with supervised(child, seen=seen, clock=VirtualClock()) as supervisor:
        pid = supervisor.reports[0].pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await eventually(lambda: len(seen.of("ready")) == 2)
    assert len(seen.of("waiting")) == 3


@pytest.mark.parametrize(
    ("script", "lines"),
    [
        pytest.param("echo one; echo two", ["one", "two"], id="lines"),
        pytest.param("printf 'no end'", ["no end"], id="last line unfinished"),
        pytest.param("echo wrong >&2", ["wrong"], id="stderr too"),
        pytest.param(r"printf '\377\n'", ["\ufffd"], id="not text"),
    ],
)
async def test_what_a_child_prints_is_handed_on_line_by_line(script: str, lines: list[str]) -> None:
    seen = Seen()
    child = FakeChild("sh", "-c", script, ready=lambda: False)
    async with supervised(child, seen=seen, backoff=NEVER_AGAIN, patience=0):
        await eventually(lambda: seen.of("waiting"))
    assert [line for _, line in seen.lines] == lines


async def test_a_grandchild_that_holds_the_output_does_not_hide_the_death() -> None:
    seen = Seen()
    child = FakeChild("sh", "-c", "sleep 300 & echo $!; exit 1", ready=lambda: False)
    async with supervised(child, seen=seen, backoff=NEVER_AGAIN, patience=0):
        await eventually(lambda: seen.of("waiting"))
        os.kill(int(seen.lines[0][1]), signal.SIGKILL)
