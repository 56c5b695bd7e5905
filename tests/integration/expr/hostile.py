"""Runs one hostile script and sees that nothing came of it."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from penstock.expr.errors import ExprError
from penstock.expr.script import Limits, Script, Scripts
from tests.integration.expr.stall import ticking

CANARY_SONG = "sings at dawn"
LIMITS = Limits(timeout_ms=100, max_memory_mb=16)
MARGIN_SECONDS = 5.0  # a loaded machine may take long to start the next process
STALL_SECONDS = 0.05


async def attempt(scripts: Scripts, language: str, source: str) -> tuple[Any, float]:
    """What came of it, and how long the loop was held up."""
    with ticking() as ticker:
        try:
            outcome: Any = await scripts.run(Script(language, source, (), LIMITS), {})
        except ExprError as error:
            outcome = error
    return outcome, ticker.longest


async def is_harmless(scripts: Scripts, language: str, source: str, expected: Any, canary: Path) -> None:  # noqa: ANN401 - an error class or a JSON value
    source = source.replace("CANARY", str(canary))
    stalls = []
    for _ in range(5):  # a stall of our making comes back, one of the machine's does not
        started = perf_counter()
        outcome, stall = await attempt(scripts, language, source)
        assert perf_counter() - started < LIMITS.timeout_ms / 1000 + MARGIN_SECONDS
        assert CANARY_SONG not in f"{outcome}"
        if isinstance(expected, type):
            assert isinstance(outcome, expected), outcome
        else:
            assert outcome == {"result": expected}
        stalls.append(stall)
        if stall < STALL_SECONDS:
            return
    pytest.fail(f"the loop stalled: {stalls}")
