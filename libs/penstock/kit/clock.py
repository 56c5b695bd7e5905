"""The one place that reads the wall clock."""

from __future__ import annotations

import time

from penstock.core.model.time import Instant


def now() -> Instant:
    return Instant(time.time_ns() // 1_000)
