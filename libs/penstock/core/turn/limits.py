"""How much, how long, how often. Times are in microseconds."""

from __future__ import annotations

import msgspec

from penstock.core.model.time import SECOND


class Limits(msgspec.Struct, frozen=True):
    lease: int = 3 * SECOND
    fold: int = 256 * 1024
    """Bytes of events and causes at which a commit takes in no more commands."""
    live: int = 10_000
    """Runs kept in memory; those with something in hand are never dropped."""
    remember: int = 600 * SECOND
    """How long a command that is in the log is recognised. Longer than a delivery may stay unacknowledged."""
    retry: int = SECOND
    """How long a run rests after a failure that may pass."""
    tries: int = 10
    """How often a command for a run that does not exist is delivered."""
    snapshot_every: int = 200
    """Events between two snapshots of a run."""
    mark_every: int = SECOND
