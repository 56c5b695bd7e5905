"""A command on its way to the shard of its run: msgpack, named by the message id that travels as a header."""

from __future__ import annotations

import re
from typing import Final, Union

import msgspec

from penstock.core.model.commands import COMMANDS, Command
from penstock.wire.encoding import FORMAT, Reader, check_format
from penstock.wire.values import check_json

_REPLY = re.compile(r"_INBOX\.[A-Za-z0-9_.-]{1,200}")
"""Answers go to inboxes only: nobody can make the coordinator write anywhere else."""
_PAYLOADS: Final = ("input", "output", "payload", "data", "operations", "metadata")


class CommandMessage(msgspec.Struct, frozen=True, rename={"format": "v"}):
    command: Union[COMMANDS]  # type: ignore[valid-type]  # noqa: UP007 - made of a tuple
    reply: str = ""
    """An inbox that is told what became of it."""
    format: int = FORMAT


_encode = msgspec.msgpack.Encoder().encode
_reader: Reader[CommandMessage] = Reader(CommandMessage)


def encode_command(command: Command, reply: str = "") -> bytes:
    return _encode(CommandMessage(command, reply))


def decode_command(body: bytes) -> CommandMessage:
    """Raises `msgspec.DecodeError` on bytes that are not one."""
    message = _reader.msgpack(body)
    check_format(message.format)
    if message.reply and _REPLY.fullmatch(message.reply) is None:
        raise msgspec.ValidationError("a reply goes to an inbox")
    for field in _PAYLOADS:
        payload = getattr(message.command, field, None)
        if payload is not None:
            check_json(list(payload) if type(payload) is tuple else payload)
    return message
