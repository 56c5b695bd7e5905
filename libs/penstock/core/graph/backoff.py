"""How long to wait before the next attempt."""

from __future__ import annotations

from hashlib import sha256

from penstock.core.model.graph import RetryRule


def delay(rule: RetryRule, token: int, attempt: int) -> float:
    """Milliseconds after this attempt. The jitter follows from the task, so that a replay gives the same."""
    factor = {"fixed": 1.0, "linear": float(attempt), "exponential": _power(rule.multiplier, attempt - 1)}[rule.backoff]
    base = rule.delay * factor
    if rule.max_delay is not None:
        base = min(base, rule.max_delay)
    spread = int.from_bytes(sha256(f"{token}-{attempt}".encode()).digest()[:4]) / 2**32
    return min(base * (1 + rule.jitter * (2 * spread - 1)), LONGEST)


def _power(base: float, exponent: int) -> float:
    try:
        return base**exponent
    except OverflowError:
        return LONGEST


LONGEST = 10 * 365 * 86_400_000.0
"""Ten years: beyond, times no longer fit."""
