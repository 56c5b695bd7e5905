"""Scripts that mean harm: each is refused or stopped within its limit, and neither host nor caller notices."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.expr.errors import ExprError, ExpressionTooComplex, LimitExceeded
from penstock.expr.script import Script, Scripts
from tests.integration.expr.hostile import LIMITS, STALL_SECONDS, is_harmless
from tests.integration.expr.hostile_ale import ALE
from tests.integration.expr.hostile_lua import LUA
from tests.integration.expr.hostile_python import PYTHON
from tests.integration.expr.stall import ticking

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize(("source", "expected"), LUA.values(), ids=LUA)
async def test_hostile_lua(scripts: Scripts, source: str, expected: Any, canary: Path) -> None:  # noqa: ANN401 - as above
    await is_harmless(scripts, "lua", source, expected, canary)


@pytest.fixture
def untraced() -> Iterator[None]:
    """Ale runs in this process: what is timed must not be slowed down by the measuring of coverage."""
    tracer = sys.gettrace()
    sys.settrace(None)
    yield
    sys.settrace(tracer)


@pytest.mark.usefixtures("untraced")
@pytest.mark.parametrize(("source", "expected"), ALE.values(), ids=ALE)
async def test_hostile_ale(scripts: Scripts, source: str, expected: Any, canary: Path) -> None:  # noqa: ANN401 - as above
    await is_harmless(scripts, "ale", source, expected, canary)


@pytest.mark.usefixtures("untraced")
@pytest.mark.parametrize("size", [60_000, 16_000])
async def test_a_long_ale_program_is_checked_without_a_stall(scripts: Scripts, size: int) -> None:
    stalls = []
    for number in range(5):  # another one each time: what was compiled is kept
        source = f"(+ {number} 1) " * (size // 8)
        with ticking() as ticker:
            try:
                await scripts.check(Script("ale", source))
                assert size < 16 * 1024
            except ExpressionTooComplex:
                assert size > 16 * 1024
        stalls.append(ticker.longest)
    assert min(stalls) < STALL_SECONDS, stalls


@pytest.mark.parametrize(("source", "expected"), PYTHON.values(), ids=PYTHON)
async def test_hostile_python(scripts: Scripts, source: str, expected: Any, canary: Path) -> None:  # noqa: ANN401 - as above
    await is_harmless(scripts, "python", source, expected, canary)


async def test_there_are_at_least_a_hundred_attempts() -> None:
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
