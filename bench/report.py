"""One JSON line per figure."""

from __future__ import annotations

import sys
from statistics import median
from typing import Any

import msgspec


def report(
    bench: str,
    value: float,
    unit: str,
    *,
    target: float,
    at_least: bool = True,
    bare: float | None = None,
    by_ratio: bool = True,
    **conditions: Any,  # noqa: ANN401 - whatever the figure depends on
) -> bool:
    """Print a figure; with `bare`, the target is for its ratio to the bare one beside it, unless told otherwise."""
    ratio = value / bare if bare else None
    measured = ratio if ratio is not None and by_ratio else value
    ok = measured >= target if at_least else measured <= target
    line: dict[str, Any] = {"bench": bench, "value": round(value, 3), "unit": unit}
    if bare is not None and ratio is not None:
        line |= {"bare": round(bare, 3), "ratio": round(ratio, 3)}
    line |= {"target": f"{'>=' if at_least else '<='} {target}", "ok": ok, **conditions}
    sys.stdout.write(msgspec.json.encode(line).decode() + "\n")
    sys.stdout.flush()
    return ok


def middle(values: list[float]) -> float:
    return float(median(values))
