"""Whether a server's clock agrees with ours."""

from __future__ import annotations

from datetime import datetime

from penstock.cli.checks.finding import Finding, ok
from penstock.core.model.time import SECOND, Instant

_WARN = 1.0
_FAIL = 5.0
_FIX = "Run a time service (chrony, systemd-timesyncd) on both machines: timers fire by the server's clock."


def instant(time: datetime) -> Instant:
    return Instant(int(time.timestamp() * SECOND))


def compare(server: str, theirs: Instant, before: Instant, after: Instant) -> Finding:
    """`theirs` was read between `before` and `after`: within that span there is no telling."""
    check = f"{server} clock"
    if after < before:
        return Finding(check, "fail", "the clock of this machine went backwards while we looked", _FIX)
    skew = max(0, before - theirs, theirs - after) / SECOND
    if skew < _WARN:
        return ok(check, f"agrees within {max(skew, (after - before) / SECOND):.3f} s")
    return Finding(check, "warn" if skew < _FAIL else "fail", f"differs by {skew:.1f} s", _FIX)
