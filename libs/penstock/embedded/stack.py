"""What a running `penstock dev` tells other commands: `stack.json` in its data folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

Origin = Literal["child", "external"]
FILE = "stack.json"


class Service(msgspec.Struct, frozen=True):
    name: str
    address: str
    origin: Origin
    status: str
    pid: int | None = None
    data: str | None = None
    restarts: int = 0


class Stack(msgspec.Struct, frozen=True):
    pid: int
    """Of `penstock dev` itself."""
    ready: bool
    durability: str
    settings: Mapping[str, str]
    """As configuration keys, so that a command started beside it needs no flags."""
    services: tuple[Service, ...]
    nats_monitor: str | None = None

    def save(self, data: Path) -> None:
        """Whole or not at all; for our eyes only, as it holds the password of Postgres."""
        draft = data / f"{FILE}.new"
        draft.unlink(missing_ok=True)
        draft.touch(mode=0o600)
        draft.write_bytes(msgspec.json.format(msgspec.json.encode(self)))
        draft.rename(data / FILE)


def load(data: Path) -> Stack | None:
    """The stack that runs on `data`, if one does: a file left by a killed one does not count."""
    try:
        stack = msgspec.json.decode((data / FILE).read_bytes(), type=Stack)
    except (OSError, msgspec.MsgspecError):
        return None
    return stack if _alive(stack.pid) else None


def remove(data: Path) -> None:
    (data / FILE).unlink(missing_ok=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
