"""Messages between processes: what goes in comes out, and what is no message is refused at the door."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from penstock.core.model import commands as c
from penstock.core.model.commit import RunKey
from penstock.core.model.effects import DispatchTask
from penstock.core.model.events import Fault
from penstock.core.model.time import Instant
from penstock.core.turn import Accepted, Refused, Summary
from penstock.wire.command import decode_command, encode_command
from penstock.wire.encoding import CONTENT_TYPE, MSGPACK
from penstock.wire.reply import AcceptedReply, RefusedReply, decode_reply, encode_reply
from penstock.wire.result import decode_result
from penstock.wire.task import PATIENCE, attempt_id, encode_task, task_id, token_of
from penstock.wire.values import DEPTH, check_json

KEY = RunKey("acme", "r.1.2")
RESULT = {"v": 1, "task_id": "r.1.2.7", "attempt": 2, "nonce": "n", "status": "completed"}
BLOB = {"$blob": "sha256:" + "0" * 64, "size": 9}


def nested(levels: int) -> Any:  # noqa: ANN401 - JSON
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def result(**changed: Any) -> c.TaskResult | c.TaskBegun:  # noqa: ANN401 - fields of the message
    return decode_result(KEY.run, json.dumps(RESULT | changed).encode(), {})


# -- commands


def test_a_command_comes_out_as_it_went_in() -> None:
    start = c.Start("w", "sha256:0", {"n": [1, None, 2.5]}, "seed", "r", labels={"a": "b"}, deadline=Instant(5))
    message = decode_command(encode_command(start, "_INBOX.a.b"))
    assert (message.command, message.reply) == (start, "_INBOX.a.b")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xc1",
        msgspec.msgpack.encode({"command": {"type": "nonsense"}}),
        msgspec.msgpack.encode({"command": {"type": "cancel"}, "v": 2}),
        msgspec.msgpack.encode({"command": {"type": "cancel"}, "reply": "ps.cmd.0.acme.r"}),
        msgspec.msgpack.encode({"command": {"type": "signal.send", "signal": "s", "name": "n", "payload": b"bytes"}}),
        msgspec.msgpack.encode({"command": {"type": "signal.send", "signal": "s", "name": "n", "payload": {1: 2}}}),
        msgspec.msgpack.encode({"command": {"type": "signal.send", "signal": "s", "name": "n", "payload": nested(65)}}),
    ],
    ids=["empty", "no msgpack", "unknown", "newer", "reply to a stream", "bytes", "a key that is no text", "too deep"],
)
def test_what_is_no_command_is_refused(body: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_command(body)


# -- tasks


def task(**changed: Any) -> dict[str, Any]:  # noqa: ANN401 - fields of the effect
    effect = DispatchTask(7, 2, "n", "a", "http", "q", {"url": "x"}, {"i": 1}, "r.1.2.7", **changed)
    decoded: dict[str, Any] = json.loads(encode_task(KEY.run, effect, "ps.res.0.acme.r~1~2", Instant(0)))
    return decoded


def test_a_task_message_has_everything_that_the_work_needs() -> None:
    assert task(timeout=1500) == {
        "v": 1,
        "run_id": "r.1.2",
        "task_id": "r.1.2.7",
        "attempt": 2,
        "nonce": "n",
        "node": "a",
        "type": "http",
        "config": {"url": "x"},
        "input": {"i": 1},
        "deadline": "1970-01-01T00:00:01.500000Z",
        "idempotency_key": "r.1.2.7",
        "reply": "ps.res.0.acme.r~1~2",
        "claim": False,
        "purpose": "node",
    }


def test_no_task_is_without_a_deadline() -> None:
    assert PATIENCE == 86_400_000
    assert task()["deadline"] == "1970-01-02T00:00:00Z"


@pytest.mark.parametrize("purpose", ["node", "undo", "route"])
def test_a_task_id_names_its_token(purpose: str) -> None:
    assert token_of(KEY.run, task_id(KEY.run, 7, purpose)) == 7


def test_what_is_done_for_one_token_has_ids_of_its_own() -> None:
    ids = {attempt_id(task_id("r", 7, purpose), 1) for purpose in ("node", "undo", "route")}
    assert ids == {"r.7-1", "r.7.undo-1", "r.7.route-1"}


@pytest.mark.parametrize("name", ["", "r.1.2", "r.1.2.", "r.1.2.x", "other.7", "r.1.2.-7", "r.1.2." + "9" * 30])
def test_a_task_of_another_run_is_none_of_ours(name: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        token_of(KEY.run, name)


# -- results


def test_a_result_is_a_command_to_its_run() -> None:
    assert result(output={"ok": True}, next_nodes=["b"], metadata={"execution_time_ms": 3}) == c.TaskResult(
        7, 2, "n", "completed", {"ok": True}, None, ("b",), {"execution_time_ms": 3}
    )


def test_a_result_may_come_as_msgpack() -> None:
    body = msgspec.msgpack.encode(RESULT | {"output": [1]})
    assert decode_result(KEY.run, body, {CONTENT_TYPE: MSGPACK}) == c.TaskResult(7, 2, "n", "completed", [1])


def test_an_output_may_be_a_blob() -> None:
    found = result(output_ref=BLOB)
    assert isinstance(found, c.TaskResult)
    assert found.output == BLOB


def test_a_worker_may_say_that_it_has_begun() -> None:
    assert result(status="begun") == c.TaskBegun(7, 2, "n")


def test_a_failure_has_a_fault_and_not_too_much_of_it() -> None:
    found = result(status="failed", error={"code": "", "message": "x" * 9000, "retryable": True})
    assert isinstance(found, c.TaskResult)
    assert found.fault == Fault("ERROR", "x" * 4096, retryable=True)


@pytest.mark.parametrize(
    "changed",
    [
        {"v": 2},
        {"task_id": "other.7"},
        {"attempt": -1},
        {"attempt": "2"},
        {"nonce": ""},
        {"status": "fine"},
        {"output": nested(DEPTH + 1)},
        {"output": 2**64},
        {"output": 1, "output_ref": BLOB},
        {"output_ref": {"$blob": "sha256:0", "size": 1}},
        {"next_nodes": [1]},
        {"metadata": {"n": 2**70}},
        {"status": "failed", "error": {"details": {"n": 2**70}}},
        {"artifacts": [{"name": "a", "ref": "r", "metadata": 2**70}]},
    ],
    ids=str,
)
def test_a_result_that_makes_no_sense_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(msgspec.DecodeError):
        result(**changed)


@pytest.mark.parametrize("body", [b"", b"{", b"null", b"[" * 100_000, b'"\xff"'], ids=repr)
def test_bytes_that_are_no_result_are_refused(body: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_result(KEY.run, body, {})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), b"x", {1: 2}, -(2**63) - 1], ids=repr)
def test_what_json_cannot_say_is_refused(value: object) -> None:
    with pytest.raises(msgspec.ValidationError):
        check_json(value)


def test_what_json_can_say_passes_down_to_the_last_level() -> None:
    check_json({"a": [None, True, 2**64 - 1, -(2**63), 1.5, "x"]})
    check_json(nested(DEPTH))


# -- replies


def test_a_reply_says_what_became_of_the_command() -> None:
    accepted = Accepted("_INBOX.a", "c1", KEY, 9, Summary(1, None, "running"))
    assert decode_reply(encode_reply(accepted)) == AcceptedReply("c1", KEY.run, 9, "running", None)
    refused = Refused("_INBOX.a", "c1", KEY, "NO", "no", {"what": KEY}, retryable=False)
    reply = decode_reply(encode_reply(refused))
    assert isinstance(reply, RefusedReply)
    assert (reply.code, reply.retryable) == ("NO", False)
