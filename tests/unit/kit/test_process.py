"""`kit.lifecycle.main` as a process: exit codes, and what is said before there is a log."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from penstock.kit.lifecycle import FAILED, FORCED, MISCONFIGURED

STUCK = """
import asyncio, sys
from penstock.kit.lifecycle import main
async def start(service):
    service.on_drain(asyncio.Event().wait)
sys.exit(main("stuck", start))
"""
BROKEN = """
import sys
from penstock.kit.lifecycle import main
async def start(service):
    raise OSError("nats://me:hunter2@host is away")
sys.exit(main("broken", start))
"""


@contextmanager
def process(program: str, **environ: str) -> Iterator[subprocess.Popen[str]]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
    child = subprocess.Popen(
        [sys.executable, "-c", program], env=inherited | environ, stderr=subprocess.PIPE, text=True
    )
    try:
        yield child
    finally:
        child.kill()
        child.communicate()


def await_event(child: subprocess.Popen[str], event: str) -> None:
    assert child.stderr is not None
    for line in child.stderr:
        if msgspec.json.decode(line)["event"] == event:
            return
    pytest.fail(f"ended without {event}")


def test_a_second_signal_ends_the_process_at_once() -> None:
    with process(STUCK) as child:
        await_event(child, "service.serving")
        child.send_signal(signal.SIGTERM)
        await_event(child, "service.draining")
        child.send_signal(signal.SIGTERM)
        assert child.wait(30) == FORCED + signal.SIGTERM


def test_a_failed_start_is_one_line_of_log_without_secrets_and_a_code() -> None:
    with process(BROKEN) as child:
        _, said = child.communicate(timeout=30)
        assert child.returncode == FAILED
    lines = [msgspec.json.decode(line) for line in said.splitlines()]
    assert [line["event"] for line in lines if line["level"] == "error"] == ["service.failed"]
    assert "hunter2" not in said


def test_a_wrong_setting_is_said_on_stderr_without_a_traceback() -> None:
    with process(STUCK, PENSTOCK_NATS_ULR="x") as child:
        _, said = child.communicate(timeout=30)
        assert child.returncode == MISCONFIGURED
    assert "CONFIG_UNKNOWN_KEY" in said
    assert "PENSTOCK_NATS_URL" in said
    assert "Traceback" not in said


def test_a_missing_file_is_said_too(tmp_path: Path) -> None:
    with process(STUCK, PENSTOCK_CONFIG=str(tmp_path / "none.toml")) as child:
        _, said = child.communicate(timeout=30)
        assert child.returncode == MISCONFIGURED
    assert "CONFIG_FILE_UNREADABLE" in said
