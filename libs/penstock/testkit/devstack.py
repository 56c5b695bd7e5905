"""`penstock dev` as a process under test: the whole stack, as a user runs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from penstock.embedded import stack as stack_file
from penstock.embedded.identity import Identity
from penstock.embedded.program import Program
from penstock.embedded.stack import Service, Stack
from penstock.testkit.eventually import eventually_sync


class DevStack:
    def __init__(self, data: Path, *options: str, identity: Identity | None = None) -> None:
        self.data = data
        argv = (sys.executable, "-m", "penstock.cli", "dev", "--data-dir", str(data), *options)
        self._program = Program(argv, identity=identity, env=_without_coverage() if identity else None)
        self._log = data.with_suffix(".log")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "not launched"  # noqa: S101 - a mistake in a test
        return self._process

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def output(self) -> str:
        return self._log.read_text()

    @property
    def stack(self) -> Stack | None:
        return stack_file.load(self.data)

    def service(self, name: str) -> Service:
        stack = self.stack
        assert stack is not None, "not running"  # noqa: S101 - a mistake in a test
        return next(service for service in stack.services if service.name == name)

    def launch(self) -> None:
        with self._log.open("ab") as log:
            self._process = self._program.spawn(log)

    def start(self, timeout: float = 60.0) -> Stack:
        self.launch()
        return self.await_ready(timeout)

    def await_ready(self, timeout: float = 60.0) -> Stack:
        def ready() -> Stack | None:
            if self.process.poll() is not None:
                raise RuntimeError(f"penstock dev ended with {self.process.returncode}:\n{self.output}")
            stack = self.stack
            return stack if stack is not None and stack.ready and stack.pid == self.pid else None

        found = eventually_sync(ready, timeout)
        assert found is not None  # noqa: S101 - `eventually` returns what is true
        return found

    def crash(self, name: str, timeout: float = 60.0) -> Service:
        """Kill a child without warning; the child once it is back."""
        before = self.service(name)
        assert before.pid is not None, f"{name} does not run"  # noqa: S101 - a mistake in a test
        os.kill(before.pid, signal.SIGKILL)

        def back() -> Service | None:
            service = self.service(name)
            return service if service.restarts > before.restarts and service.status == "ready" else None

        found = eventually_sync(back, timeout)
        assert found is not None  # noqa: S101 - `eventually` returns what is true
        return found

    def wait(self, timeout: float = 30.0) -> int:
        return self.process.wait(timeout)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.wait()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.stop()


def _without_coverage() -> dict[str, str]:
    """Another user cannot write our measurements."""
    return {name: "" for name in os.environ if name.startswith("COVERAGE_")}
