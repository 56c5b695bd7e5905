"""Processes as the kernel sees them (Linux): who came from whom, and who is still there."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

_STATE, _PARENT, _STARTED = 0, 1, 19  # fields of /proc/<pid>/stat after the name


class ProcessId(NamedTuple):
    """Of one process for ever: numbers are used again, a number with its start time is not."""

    pid: int
    started: str


def process_id(pid: int) -> ProcessId:
    return ProcessId(pid, _stat(pid)[_STARTED])


def descendants(pid: int) -> set[ProcessId]:
    """Children, their children and so on, at this moment."""
    parents = {int(entry.name): _stat(int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdigit()}
    found: set[int] = {pid}
    while more := {child for child, stat in parents.items() if stat and int(stat[_PARENT]) in found} - found:
        found |= more
    return {ProcessId(child, parents[child][_STARTED]) for child in found - {pid}}


def is_alive(process: ProcessId) -> bool:
    """A zombie is dead: only its parent's attention is missing."""
    stat = _stat(process.pid)
    return bool(stat) and stat[_STARTED] == process.started and stat[_STATE] not in {"Z", "X"}


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []
