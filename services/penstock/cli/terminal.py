"""What `penstock dev` shows and keeps of its children: lines, log files, the table of what runs where."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO

import typer
from rich.table import Table

from penstock.cli.output import talk_console
from penstock.embedded.stack import Stack
from penstock.embedded.supervisor import Report

_COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "bright_cyan", "bright_magenta")
_ROUTINE = {"nats": "[INF]", "postgres": " LOG: "}
"""What servers say when nothing is wrong: to the log file only."""
_LOG_MAX = 10 * 1024 * 1024


class Terminal:
    def __init__(self, logs: Path, *, verbose: bool) -> None:
        self._logs = logs
        self._verbose = verbose
        self._files: dict[str, LogFile] = {}

    def line(self, name: str, line: str) -> None:
        if name not in self._files:
            self._files[name] = LogFile(self._logs / f"{name}.log")
        self._files[name].write(line)
        if self._verbose or _ROUTINE.get(name, "\n") not in line:
            colour = _COLOURS[list(self._files).index(name) % len(_COLOURS)]
            _talk(f"{typer.style(f'{name:>9} │', fg=colour)} {line}")

    def change(self, report: Report) -> None:
        if report.status == "waiting":
            _talk(f"{report.name} {report.reason}; starting again in {report.pause:g} s", fg="red")
        elif report.status == "ready" and report.restarts:
            _talk(f"{report.name} is back (process {report.pid})", fg="green")

    def say(self, text: str) -> None:
        _talk(text)

    def show(self, stack: Stack) -> None:
        table = Table("service", "address", "status", "pid", "data", box=None, pad_edge=False)
        for service in stack.services:
            table.add_row(service.name, service.address, service.status, str(service.pid or ""), _short(service.data))
        console = talk_console()
        console.print()
        console.print(table)
        console.print(f"\nLogs are in {_short(str(self._logs))}. Ctrl-C stops everything.\n")

    def close(self) -> None:
        for file in self._files.values():
            file.close()


class LogFile:
    """One file and the one before it: a stack left running for a month does not fill the disk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = self._open()

    def write(self, line: str) -> None:
        if self._file.tell() > _LOG_MAX:
            self._file.close()
            self._path.replace(self._path.with_suffix(".log.1"))
            self._file = self._open()
        self._file.write(line.encode() + b"\n")

    def close(self) -> None:
        self._file.close()

    def _open(self) -> IO[bytes]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        return self._path.open("ab", buffering=0)


def _talk(text: str, fg: str | None = None) -> None:
    try:
        typer.secho(text, fg=fg, err=True)
    except OSError:  # the terminal is gone; the log files go on
        sys.stderr = None


def _short(path: str | None) -> str:
    if path is None:
        return ""
    here = Path.cwd()
    return str(Path(path).relative_to(here)) if Path(path).is_relative_to(here) else path
