"""The same hostile Python as in test_hostile, on the fallback engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.expr.script import Scripts
from tests.integration.expr.hostile import is_harmless
from tests.integration.expr.hostile_python import PYTHON

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize(("source", "expected"), PYTHON.values(), ids=PYTHON)
async def test_hostile_python_on_the_fallback(restricted: Scripts, source: str, expected: Any, canary: Path) -> None:  # noqa: ANN401 - as above
    await is_harmless(restricted, "python", source, expected, canary)
