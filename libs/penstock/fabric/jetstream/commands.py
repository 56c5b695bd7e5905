"""Commands and results on the shard's work queue."""

from __future__ import annotations

from penstock.core.model.commit import RunKey
from penstock.fabric.jetstream.connection import Connection
from penstock.fabric.jetstream.replies import Refused

MESSAGE_ID = "Nats-Msg-Id"


class JetStreamCommands:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._names = connection.names

    async def send(self, key: RunKey, command: str, body: bytes) -> None:
        await self._send(self._names.command(key), command, body, "a command")

    async def send_result(self, key: RunKey, result: str, body: bytes) -> None:
        await self._send(self._names.result(key), result, body, "a result")

    async def _send(self, subject: str, message: str, body: bytes, operation: str) -> None:
        try:
            await self._connection.write(subject, body, {MESSAGE_ID: message}, operation)
        except Refused as refused:
            raise refused.as_error() from refused
