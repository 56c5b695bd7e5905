"""What a worker sends back: JSON, or msgpack by header. Untrusted, so everything in it is checked here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta

from penstock.core.model.commands import TaskBegun, TaskResult
from penstock.core.model.events import Artifact, Fault
from penstock.wire.encoding import FORMAT, Reader, check_format
from penstock.wire.task import token_of
from penstock.wire.values import check_json

Json: TypeAlias = Any

_TEXT: Final = 4096
_CODE: Final = 128
"""Characters that are kept of what a worker says of its error."""

Short = Annotated[str, Meta(min_length=1, max_length=256)]
Few = Annotated[tuple[Short, ...], Meta(max_length=1_000)]


class BlobReference(msgspec.Struct, frozen=True, rename={"name": "$blob"}):
    name: Annotated[str, Meta(pattern="^sha256:[0-9a-f]{64}$")]
    size: Annotated[int, Meta(ge=0)]


class ResultError(msgspec.Struct, frozen=True):
    code: str = "ERROR"
    message: str = ""
    retryable: bool = False
    details: dict[str, Json] = {}


class ResultMessage(msgspec.Struct, frozen=True, omit_defaults=True, rename={"format": "v"}):
    task_id: Short
    attempt: Annotated[int, Meta(ge=0, le=1_000_000)]
    nonce: Short
    status: Literal["begun", "completed", "failed", "cancelled"]
    output: Json = None
    output_ref: BlobReference | None = None
    error: ResultError | None = None
    next_nodes: Few | None = None
    artifacts: Annotated[tuple[Artifact, ...], Meta(max_length=1_000)] = ()
    metadata: dict[str, Json] = {}
    format: int = FORMAT


_reader: Reader[ResultMessage] = Reader(ResultMessage)


def decode_result(run: str, body: bytes, headers: Mapping[str, str]) -> TaskResult | TaskBegun:
    """The command it is to its run. Raises `msgspec.DecodeError` on what is none."""
    message = _reader.read(body, headers)
    check_format(message.format)
    token = token_of(run, message.task_id)
    if message.status == "begun":
        return TaskBegun(token, message.attempt, message.nonce)
    for artifact in message.artifacts:
        check_json(artifact.metadata)
    check_json(message.metadata)
    return TaskResult(
        token=token,
        attempt=message.attempt,
        nonce=message.nonce,
        status=message.status,
        output=_output(message),
        fault=_fault(message),
        next_nodes=message.next_nodes,
        metadata=message.metadata,
        artifacts=message.artifacts,
    )


def _output(message: ResultMessage) -> Json:
    if message.output_ref is None:
        check_json(message.output)
        return message.output
    if message.output is not None:
        raise msgspec.ValidationError("a result has an output or an output_ref, not both")
    return msgspec.to_builtins(message.output_ref)


def _fault(message: ResultMessage) -> Fault | None:
    if message.status == "completed":
        return None
    error = message.error or ResultError()
    check_json(error.details)
    code = error.code[:_CODE] or "ERROR"
    return Fault(code, error.message[:_TEXT], retryable=error.retryable, details=error.details)
