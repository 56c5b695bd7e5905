"""The folder of one embedded stack: made by us, held by one process at a time."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from penstock.embedded.errors import DataInUse, DataNotOurs, DataNotWritable

_MARKER = "penstock-data"
_LAYOUT = "1\n"
_LOCK = "lock"
_KEPT = {_MARKER, _LOCK}


class DataDir:
    def __init__(self, path: Path) -> None:
        self.path = path.resolve()

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Make it ours, and ours alone until the block ends or the process dies."""
        try:
            self._claim()
            lock = (self.path / _LOCK).open("a+")
        except OSError as error:
            raise DataNotWritable(path=str(self.path), reason=error.strerror or str(error)) from error
        with lock:
            self._lock(lock)
            yield

    def wipe(self) -> None:
        """Only while held. The lock stays, so that nobody slips in between."""
        for entry in self.path.iterdir():
            if entry.name in _KEPT:
                continue
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()

    @property
    def exists(self) -> bool:
        return (self.path / _MARKER).exists()

    def _claim(self) -> None:
        if self.exists:
            return
        self.path.mkdir(parents=True, exist_ok=True)
        if any(entry.name not in _KEPT for entry in self.path.iterdir()):
            raise DataNotOurs(path=str(self.path))
        (self.path / _MARKER).write_text(_LAYOUT)

    def _lock(self, lock: IO[str]) -> None:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.seek(0)
            raise DataInUse(path=str(self.path), pid=lock.read().strip() or "unknown") from error
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
