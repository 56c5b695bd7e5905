"""Time as the core sees it: a number that comes in from outside."""

from __future__ import annotations

from typing import NewType

Instant = NewType("Instant", int)
"""Microseconds since the Unix epoch, UTC."""

SECOND = 1_000_000
MILLISECOND = 1_000
