"""What a decision needs from outside, and what it leaves there: blobs, memos, approvals, dead letters of tasks."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from penstock.core.model import commands as c
from penstock.fabric.jetstream.blobs import JetStreamBlobs
from penstock.kit.config import BlobsConfig
from penstock.testkit.eventually import eventually
from tests.integration.coordinator.stage import TENANT, Json, Stage, chain, done


async def test_a_condition_reads_into_a_blob(stage: Stage) -> None:
    blobs = JetStreamBlobs(stage.connection, BlobsConfig())
    reference = await blobs.put(TENANT, msgspec.json.encode({"score": 7}))

    def large(task: Json) -> Json:
        return {"status": "completed", "output_ref": reference.to_json()} if task["node"] == "a" else done(task)

    definition = chain("a", "b")
    definition["transitions"][0]["when"] = "output.score > 1"
    async with stage.coordinator(), stage.worker(large) as given:
        key = await stage.start(definition)
        await stage.closed(key)
        assert len(given) == 2


async def test_work_that_was_done_once_is_not_done_again(stage: Stage) -> None:
    definition = chain({"id": "a", "type": "task", "queue": "q", "memoize": True})
    async with stage.coordinator(), stage.worker() as given:
        await stage.closed(await stage.start(definition, {"n": 1}))
        again = await stage.start(definition, {"n": 1})
        await stage.closed(again)
        assert await stage.outcome(again) == "completed"
        assert len(given) == 1
        await stage.verify(again)


async def test_somebody_is_asked_for_an_approval_and_the_run_goes_on(stage: Stage) -> None:
    asked: asyncio.Queue[Json] = asyncio.Queue()

    async def listen(message: Any) -> None:  # noqa: ANN401 - nats-py's
        asked.put_nowait(msgspec.json.decode(message.data))

    stop = await stage.connection.subscribe(f"{stage.names.prefix}.approval.{TENANT}.*", listen)
    human = {"id": "h", "type": "human", "human_config": {"approvers": ["boss"]}}
    async with stage.coordinator(), stage.worker():
        key = await stage.start(chain(human, "a"))
        question = await asked.get()
        assert question["run_id"] == key.run
        assert question["effect"]["approvers"] == ["boss"]
        await stage.send(key, c.DecideApproval(question["effect"]["approval"], "approved", "boss"))
        await stage.closed(key)
        assert await stage.outcome(key) == "completed"
    await stop()


async def test_a_task_that_failed_too_often_is_kept_as_a_dead_letter(stage: Stage) -> None:
    def fails(_: Json) -> Json:
        return {"status": "failed", "error": {"code": "BROKEN", "message": "no", "retryable": True}}

    node = {"id": "a", "type": "task", "queue": "q", "retry": {"max_attempts": 2, "delay": "1ms"}}
    async with stage.coordinator(), stage.worker(fails) as given:
        key = await stage.start(chain(node))
        await stage.closed(key)
        assert await stage.outcome(key) == "failed"
        assert len(given) == 2

        async def letters() -> list[str]:
            return [letter.cause async for letter in stage.ports.dead_letters.list(TENANT, "q")]

        (cause,) = await eventually(letters)
        assert cause.startswith("BROKEN")
