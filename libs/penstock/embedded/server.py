"""What every embedded server shares: one child process, started, asked, stopped and killed."""

from __future__ import annotations

import contextlib
import subprocess
import time
from abc import ABC, abstractmethod
from pathlib import Path
from signal import SIGKILL, Signals
from typing import ClassVar

from penstock.embedded.errors import ServerNotReady
from penstock.embedded.program import Program

_POLL = 0.01
_RELAUNCH = 0.2


class EmbeddedServer(ABC):
    """A server with its data in one folder. Address and data outlive any number of processes."""

    name: ClassVar[str]

    def __init__(self, data: Path) -> None:
        self.data = data
        self._program: Program | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def program(self) -> Program:
        """Prepare the folder and say how to start the server. Called again for every start."""

    @abstractmethod
    def ready(self, pid: int) -> bool:
        """Whether the process `pid` serves requests."""

    @property
    def log_file(self) -> Path:
        return self.data / f"{self.name}.log"

    @property
    def pid(self) -> int:
        assert self._process is not None, "not started"  # noqa: S101 - a mistake of ours
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def launch(self) -> None:
        """Start the process without waiting for it: a cluster is only ready together."""
        self._program = self.program()
        with self.log_file.open("ab") as log:
            self._process = self._program.spawn(log)

    def await_ready(self, timeout: float = 10.0) -> None:
        deadline = time.monotonic() + timeout
        while not self.ready(self.pid):
            if not self.running or time.monotonic() > deadline:
                raise ServerNotReady(server=self.name, seconds=timeout, log=str(self.log_file))
            time.sleep(_POLL)

    def start(self, timeout: float = 10.0) -> None:
        """Launch until it is ready: what a killed process held (port, shared memory) takes a moment to go."""
        deadline = time.monotonic() + timeout
        self.launch()
        while not self.ready(self.pid):
            if time.monotonic() > deadline:
                self.kill()
                raise ServerNotReady(server=self.name, seconds=timeout, log=str(self.log_file))
            if self.running:
                time.sleep(_POLL)
            else:
                time.sleep(_RELAUNCH)
                self.launch()

    def stop(self, timeout: float = 10.0) -> None:
        """Ask, then insist."""
        if self._process is None or self._program is None:
            return
        self.signal(self._program.stop_signal)
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
        self._process = None

    def kill(self) -> None:
        """As a crash would: no chance to flush."""
        self.signal(SIGKILL)
        if self._process is not None:
            self._process.wait()

    def signal(self, number: Signals) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)
