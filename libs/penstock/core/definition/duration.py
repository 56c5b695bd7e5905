"""Durations as they are written, in milliseconds."""

from __future__ import annotations

from typing import Final

UNITS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}

SUFFIXES: Final = {
    **dict.fromkeys(("ms", "millis"), "ms"),
    **dict.fromkeys(("s", "sec", "seconds"), "s"),
    **dict.fromkeys(("min", "minutes"), "m"),
    **dict.fromkeys(("h", "hours"), "h"),
    **dict.fromkeys(("d", "days"), "d"),
}
"""Units at the end of a field's name: `timeout_sec`."""


def milliseconds(duration: str | float) -> int:
    """Of a duration the reader has let through."""
    if not isinstance(duration, str):
        return round(duration * 1000)
    number = duration.rstrip("msdh ")
    return round(float(number) * UNITS[duration[len(number) :].strip()])


def optional_milliseconds(duration: str | float | None) -> int | None:
    return None if duration is None else milliseconds(duration)
