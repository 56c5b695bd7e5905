"""What a check is given, and what it answers."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from penstock.core.errors import PenstockError
from penstock.embedded.stack import Stack
from penstock.kit.config import Config

Status = Literal["ok", "warn", "fail"]


class Finding(msgspec.Struct, frozen=True):
    check: str
    status: Status
    detail: str
    fix: str = ""
    """What to do about it; empty when nothing is wrong."""


class Patient(msgspec.Struct, frozen=True):
    """The installation under examination."""

    config: Config
    data: Path
    stack: Stack | None = None
    """The `penstock dev` that runs on `data`."""
    monitor: str | None = None
    """Of nats-server: some things are only told there."""


def ok(check: str, detail: str) -> Finding:
    return Finding(check, "ok", detail)


def failed(check: str, error: PenstockError) -> Finding:
    return Finding(check, "fail", error.message, error.hint)
