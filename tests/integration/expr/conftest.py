"""One set of sandboxes per test file, and a watch on the event loop that uses them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from penstock.expr.script import Scripts


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scripts() -> AsyncIterator[Scripts]:
    async with Scripts(processes=2, python="monty") as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["monty", "restricted"])
async def python(request: pytest.FixtureRequest) -> AsyncIterator[Scripts]:
    async with Scripts(processes=2, python=request.param) as opened:
        yield opened
