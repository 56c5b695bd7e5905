"""Scripts that mean harm: each is refused or stopped within its limit, and neither host nor caller notices."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from penstock.expr.errors import ExprError, LimitExceeded
from penstock.expr.script import Limits, Script, Scripts
from tests.integration.expr.hostile_ale import ALE
from tests.integration.expr.hostile_lua import LUA
from tests.integration.expr.hostile_python import PYTHON
from tests.integration.expr.stall import ticking

pytestmark = pytest.mark.asyncio(loop_scope="module")

SECRET = "canary-sings-at-dawn"
LIMITS = Limits(timeout_ms=100, max_memory_mb=16)
MARGIN_SECONDS = 5.0  # a loaded machine may take long to start the next process
STALL_SECONDS = 0.05


@pytest.fixture(scope="module")
def canary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("host") / "canary.txt"
    path.write_text(SECRET)
    path.chmod(0o644)
    return path


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
    for _ in range(3):  # a stall of our making comes back, one of the machine's does not
        started = perf_counter()
        outcome, stall = await attempt(scripts, language, source)
        assert perf_counter() - started < LIMITS.timeout_ms / 1000 + MARGIN_SECONDS
        assert SECRET not in f"{outcome}"
        if isinstance(expected, type):
            assert isinstance(outcome, expected), outcome
        else:
            assert outcome == {"result": expected}
        stalls.append(stall)
        if stall < STALL_SECONDS:
            return
    pytest.fail(f"the loop stalled: {stalls}")


@pytest.mark.parametrize(("source", "expected"), LUA.values(), ids=LUA)
async def test_hostile_lua(scripts: Scripts, source: str, expected: Any, canary: Path) -> None:  # noqa: ANN401 - as above
    await is_harmless(scripts, "lua", source, expected, canary)


@pytest.mark.parametrize(("source", "expected"), ALE.values(), ids=ALE)
async def test_hostile_ale(scripts: Scripts, source: str, expected: Any, canary: Path) -> None:  # noqa: ANN401 - as above
    await is_harmless(scripts, "ale", source, expected, canary)


@pytest.mark.parametrize(("source", "expected"), PYTHON.values(), ids=PYTHON)
async def test_hostile_python(python: Scripts, source: str, expected: Any, canary: Path) -> None:  # noqa: ANN401 - as above
    await is_harmless(python, "python", source, expected, canary)


def test_there_are_at_least_a_hundred_attempts() -> None:
    assert len(LUA) + len(ALE) + len(PYTHON) >= 100


@pytest.mark.parametrize("language", ["lua", "ale", "python"])
async def test_a_hostile_argument_name_is_refused(scripts: Scripts, language: str) -> None:
    for name in ["a) os.execute(", "x = 1; y", "a\nb", "__import__('os')", "a b", ""]:
        with pytest.raises(ExprError):
            await scripts.run(Script(language, "return 1", (name,), LIMITS), {name: 1})


@pytest.mark.parametrize("language", ["lua", "python"])
async def test_an_argument_too_large_is_refused(scripts: Scripts, language: str) -> None:
    with pytest.raises(LimitExceeded):
        await scripts.run(Script(language, "return 1", ("a",), LIMITS), {"a": "x" * (1 << 21)})


async def test_after_all_that_a_script_still_runs(scripts: Scripts) -> None:
    assert await scripts.run(Script("lua", "return a + 1", ("a",)), {"a": 1}) == {"result": 2}
    assert await scripts.run(Script("python", "return a + 1", ("a",)), {"a": 1}) == {"result": 2}
    assert await scripts.run(Script("ale", "(+ a 1)", ("a",)), {"a": 1}) == {"result": 2}
