"""Runs through the whole loop on a real server: commands in, tasks out, results in, a log that tells it all."""

from __future__ import annotations

from penstock.core.model import commands as c
from penstock.wire.reply import AcceptedReply, RefusedReply
from tests.integration.coordinator.stage import Json, Stage, chain, done


async def test_a_run_goes_from_node_to_node_and_completes(stage: Stage) -> None:
    async with stage.coordinator(), stage.worker() as given, stage.inbox() as (inbox, replies):
        key = await stage.start(chain("a", "b", "c"), {"n": 1}, reply=inbox)
        reply = await replies.get()
        assert isinstance(reply, AcceptedReply)
        assert (reply.run_id, reply.status) == (key.run, "running")
        await stage.closed(key)
        assert await stage.outcome(key) == "completed"
        await stage.verify(key)
        assert list(given.values()) == [1, 1, 1]


async def test_two_hundred_runs_side_by_side_complete(stage: Stage) -> None:
    async with stage.coordinator(), stage.worker() as given:
        keys = [await stage.start(chain("a", "b", "c")) for _ in range(200)]
        await stage.closed(*keys)
        assert len(given) == 600
        await stage.verify(*keys)


async def test_whoever_asks_for_what_cannot_be_is_told_so(stage: Stage) -> None:
    async with stage.coordinator(), stage.worker(), stage.inbox() as (inbox, replies):
        key = await stage.start(chain("a", {"id": "s", "type": "wait", "wait": {"signal": "go"}}))
        await stage.send(key, c.Resume(), reply=inbox)
        reply = await replies.get()
        assert isinstance(reply, RefusedReply)
        assert reply.code == "ILLEGAL_TRANSITION"
        await stage.send(key, c.SendSignal("s1", "go"), reply=inbox)
        assert isinstance(await replies.get(), AcceptedReply)
        await stage.closed(key)


async def test_a_failed_task_is_tried_again_after_its_delay(stage: Stage) -> None:
    def fails_first(task: Json) -> Json:
        error = {"code": "BUSY", "message": "not now", "retryable": True}
        return done(task) if task["attempt"] > 1 else {"status": "failed", "error": error}

    node = {"id": "a", "type": "task", "queue": "q", "retry": {"max_attempts": 3, "delay": "20ms"}}
    async with stage.coordinator(), stage.worker(fails_first) as given:
        key = await stage.start(chain(node))
        await stage.closed(key)
        assert await stage.outcome(key) == "completed"
        assert sorted(name.rpartition("-")[2] for name in given) == ["1", "2"]
        await stage.verify(key)


async def test_a_child_run_reports_to_its_parent(stage: Stage) -> None:
    child = chain("a", name="child")
    parent = chain({"id": "sub", "type": "workflow", "workflow": "child"}, "b", name="parent")
    async with stage.coordinator(), stage.worker() as given:
        await stage.define(child)
        key = await stage.start(parent)
        await stage.closed(key)
        assert await stage.outcome(key) == "completed"
        assert len(given) == 2
        await stage.verify(key)


async def test_a_child_of_an_unknown_workflow_fails_the_node_that_called_it(stage: Stage) -> None:
    async with stage.coordinator():
        key = await stage.start(chain({"id": "sub", "type": "workflow", "workflow": "nobody"}, name="parent"))
        await stage.closed(key)
        assert await stage.outcome(key) == "failed"
