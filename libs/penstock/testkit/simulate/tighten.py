"""Limits that must not change how a run ends: fewer at a time, and time-outs that are never reached."""

from __future__ import annotations

from copy import deepcopy
from random import Random
from typing import Any, Final, TypeAlias

Json: TypeAlias = Any

YEAR: Final = 365 * 86_400
"""Seconds; generated runs sleep for days."""


def tighten(definition: Json, seed: int) -> Json:
    """A copy of a generated definition."""
    random = Random(seed)  # noqa: S311 - repeatable, not a secret
    tight = deepcopy(definition)
    for node in tight["nodes"].values():
        kind = node.get("type", "task")
        if kind == "task" and random.random() < 0.4:  # noqa: PLR2004 - two in five
            node["parallelism"] = random.randrange(1, 3)
        if kind in {"task", "agent"} and "workflow" not in node and random.random() < 0.4:  # noqa: PLR2004 - as above
            node["timeout"] = YEAR
        if "fan_in" in node:
            node["fan_in"]["timeout"] = YEAR
    for transition in tight["transitions"]:
        if "synchronize" in transition:
            transition["synchronize"]["timeout"] = YEAR
        if "foreach" in transition and random.random() < 0.5:  # noqa: PLR2004 - every other
            foreach = transition["foreach"]
            named = foreach if isinstance(foreach, dict) else {"in": foreach}
            transition["foreach"] = {**named, "max_parallel": random.randrange(1, 3)}
    return tight
