"""The coordinator as users run it: a process of its own beside a real nats-server."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from penstock.kit.config import env_name
from tests.integration.coordinator.stage import Stage, chain


async def test_the_process_runs_workflows_and_stops_when_told(stage: Stage) -> None:
    settings = {
        "nats.url": stage.connection.config.url,
        "fabric.prefix": stage.config.prefix,
        "fabric.shards": str(stage.config.shards),
    }
    environment = {**os.environ, **{env_name(key): value for key, value in settings.items()}}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "penstock.coordinator", env=environment, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        async with stage.worker() as given:
            key = await stage.start(chain("a", "b", "c"))
            await stage.closed(key)
            assert len(given) == 3
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 30) == 0
        tenures = await stage.ports.owners.tenures()
        assert [tenure.owner for tenure in tenures.values()] == [None, None]
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
