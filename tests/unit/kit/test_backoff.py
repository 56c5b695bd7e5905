from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from penstock.core.errors import PenstockError
from penstock.fabric.errors import PermissionDenied, Unavailable
from penstock.kit import backoff


@pytest.fixture(autouse=True)
def _no_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "FIRST", 0.0)


def attempts(
    *outcomes: PenstockError | str,
) -> tuple[list[PenstockError | str], Callable[[], Awaitable[str]]]:
    left = list(outcomes)

    async def attempt() -> str:
        outcome = left.pop(0)
        if isinstance(outcome, PenstockError):
            raise outcome
        return outcome

    return left, attempt


async def test_what_is_away_is_waited_for() -> None:
    away = Unavailable(operation="x", seconds=1)
    left, attempt = attempts(away, away, away, "there")
    assert await backoff.until_available(attempt, "test") == "there"
    assert left == []


async def test_what_waiting_cannot_mend_is_raised_at_once() -> None:
    left, attempt = attempts(PermissionDenied(operation="x", reason="y"), "never asked")
    with pytest.raises(PermissionDenied):
        await backoff.until_available(attempt, "test")
    assert left == ["never asked"]
