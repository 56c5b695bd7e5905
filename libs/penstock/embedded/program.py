"""How a child process is described and started: it dies with us, whatever way we die."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import IO, Any

import msgspec

from penstock.embedded.identity import Identity

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


class Program(msgspec.Struct, frozen=True):
    argv: tuple[str, ...]
    env: Mapping[str, str] | None = None
    """Added to our own environment."""
    identity: Identity | None = None
    """Who it runs as, when not as us."""
    stop_signal: signal.Signals = signal.SIGTERM
    death_signal: signal.Signals = signal.SIGKILL
    """Sent by the kernel when we are gone (Linux)."""

    def popen_options(self) -> dict[str, Any]:
        """For subprocess and asyncio alike. A session of its own: Ctrl-C reaches us alone."""
        return {
            "env": {**os.environ, **self.env} if self.env else None,
            "cwd": "/" if self.identity else None,  # ours may be closed to others
            "stdin": subprocess.DEVNULL,
            "start_new_session": True,
            "preexec_fn": _before_exec(self),
        }

    def spawn(self, output: IO[bytes] | int) -> subprocess.Popen[bytes]:
        """Only from a thread that lives as long as the process: the kernel ties the child to the thread."""
        return subprocess.Popen(  # noqa: S603 - argv is ours
            self.argv, stdout=output, stderr=subprocess.STDOUT, **self.popen_options()
        )


def _before_exec(program: Program) -> Callable[[], None]:
    """Runs between fork and exec, so everything it needs is looked up before."""
    parent = os.getpid()
    prctl = _libc.prctl if sys.platform == "linux" else None

    def prepare() -> None:
        if program.identity is not None:
            program.identity.assume()
        if prctl is not None:  # after the identity: changing that clears it
            prctl(_PR_SET_PDEATHSIG, program.death_signal)
            if os.getppid() != parent:  # it died before we asked
                os._exit(1)

    return prepare
