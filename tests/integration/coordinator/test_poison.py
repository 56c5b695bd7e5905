"""Messages that are no commands: they become dead letters, and the shard goes on."""

from __future__ import annotations

import pytest

from penstock.core.model import commands as c
from penstock.core.model.commit import RunKey
from penstock.fabric.ports.deadletters import DeadLetter
from penstock.kit.ids import new_id
from penstock.testkit.eventually import eventually
from tests.integration.coordinator.stage import TENANT, Stage, chain


async def letters(stage: Stage, tenant: str = TENANT) -> list[DeadLetter]:
    return [letter async for letter in stage.ports.dead_letters.list(tenant)]


async def test_what_is_no_command_is_kept_as_a_dead_letter(stage: Stage) -> None:
    async with stage.coordinator(), stage.worker():
        key = RunKey(TENANT, new_id())
        await stage.ports.commands.send(key, "bad", b"\xc1 no command")
        (letter,) = await eventually(lambda: letters(stage))
        assert letter.body == b"\xc1 no command"
        assert letter.cause.startswith("COMMAND_UNDECODABLE")
        other = await stage.start(chain("a"))
        await stage.closed(other)


@pytest.mark.parametrize(
    "body",
    [b"{", b"[]", b'{"task_id": "other.1", "attempt": 1, "nonce": "n", "status": "completed"}', b"[" * 5000],
    ids=["cut off", "of another type", "of another run", "too deep"],
)
async def test_a_result_that_makes_no_sense_does_not_hold_up_its_run(stage: Stage, body: bytes) -> None:
    async with stage.coordinator(), stage.inbox() as (inbox, replies):
        key = await stage.start(chain("a", "b"), reply=inbox)
        await replies.get()
        await stage.ports.commands.send_result(key, "bad", body)
        (letter,) = await eventually(lambda: letters(stage))
        assert letter.body == body
        async with stage.worker():
            await stage.closed(key)
        assert await stage.outcome(key) == "completed"
        await stage.verify(key)


async def test_a_message_on_a_subject_that_is_no_runs_is_kept_too(stage: Stage) -> None:
    async with stage.coordinator(), stage.worker():
        subject = f"{stage.names.prefix}.cmd.0.strange"
        await stage.connection.write(subject, b"?", None, "a test")
        (letter,) = await eventually(lambda: letters(stage, "default"))
        assert letter.body == b"?"
        await stage.closed(await stage.start(chain("a")))


async def test_a_command_for_a_run_that_is_not_there_does_not_hold_up_others(stage: Stage) -> None:
    async with stage.coordinator(), stage.worker():
        await stage.send(RunKey(TENANT, new_id()), c.Cancel("nobody"))
        await stage.closed(await stage.start(chain("a")))
