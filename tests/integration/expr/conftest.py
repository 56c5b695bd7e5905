"""One set of sandboxes per test file, and a file on the host that no script may read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import pytest_asyncio

from penstock.expr.script import Scripts
from tests.integration.expr.hostile import CANARY_SONG


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scripts() -> AsyncIterator[Scripts]:
    async with Scripts(processes=2, python="monty") as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def restricted() -> AsyncIterator[Scripts]:
    async with Scripts(processes=2, python="restricted") as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["monty", "restricted"])
async def python(request: pytest.FixtureRequest) -> AsyncIterator[Scripts]:
    async with Scripts(processes=2, python=request.param) as opened:
        yield opened


@pytest.fixture(scope="module")
def canary() -> Iterator[Path]:
    """A file that anyone on this machine may read, but no script."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "canary.txt"
        path.write_text(CANARY_SONG)
        path.parent.chmod(0o755)
        path.chmod(0o644)
        yield path
