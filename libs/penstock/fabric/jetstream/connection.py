"""One NATS connection, and the three things every adapter does with it: write, ask the API, subscribe.

Writes go out at once and their acknowledgements come back as futures, so that many can be under way. One
inbox serves all of them, and one ticker their time-outs: a write in flight costs a dictionary entry.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any, NamedTuple, Self, TypeVar

import msgspec
import nats.errors
from nats.aio.msg import Msg

from penstock.fabric.errors import FabricError, PermissionDenied, ServerTooOld, TooLarge, Unavailable
from penstock.fabric.jetstream.client import Client
from penstock.fabric.jetstream.replies import Ack, Refusal, Refused, decode_ack
from penstock.fabric.naming import Names
from penstock.kit.config import NatsConfig
from penstock.kit.redact import redact

REQUIRED_SERVER = (2, 12)
_SWEEP = 0.25
_RECONNECT_WAIT: Any = 0.1
"""Seconds; nats-py says int and means float."""
_HEADER_ROOM = 4096
"""The server counts headers against its payload limit and hangs up on a breach; ours stay below this."""
_AWAY = (
    nats.errors.NoRespondersError,
    nats.errors.TimeoutError,
    nats.errors.OutboundBufferLimitError,
    nats.errors.ConnectionClosedError,
    nats.errors.ConnectionReconnectingError,
    nats.errors.ConnectionDrainingError,
)

Headers = dict[str, str]
Handler = Callable[[Msg], Awaitable[None]]
T = TypeVar("T")


class ServerInfo(msgspec.Struct, frozen=True):
    version: str
    url: str
    cluster: str
    max_payload: int


class _Collected(NamedTuple):
    replies: list[Msg]
    status: asyncio.Future[Msg]


class Connection:
    def __init__(self, client: Client, config: NatsConfig, names: Names) -> None:
        self.client = client
        self.config = config
        self.names = names
        self.denied: str | None = None
        self._pending: dict[str, tuple[asyncio.Future[Ack], float, str]] = {}
        self._collecting: dict[str, _Collected] = {}
        self._serial = count()
        self._inbox = ""
        self.after_reconnect: set[Callable[[], Awaitable[None]]] = set()
        """Called when the server is back: what was asked of it before is forgotten there."""
        self._ticker: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, config: NatsConfig, names: Names, *, name: str) -> Self:
        """Connect once, or raise `Unavailable`. From then on the connection heals itself."""
        client = Client()
        connection = cls(client, config, names)
        where = f"a connection to {redact(config.url)}"
        try:
            await client.connect(
                config.url.split(","),
                name=name,
                error_cb=connection._on_error,
                disconnected_cb=connection._on_disconnected,
                reconnected_cb=connection._on_reconnected,
                connect_timeout=2,
                max_reconnect_attempts=1,
                reconnect_time_wait=_RECONNECT_WAIT,
                ping_interval=10,
                max_outstanding_pings=2,
                pending_size=64 * 1024 * 1024,
                flusher_queue_size=64 * 1024,
                **_credentials(config),
            )
        except (OSError, nats.errors.Error, TimeoutError) as error:
            if connection.denied is not None:
                raise PermissionDenied(operation=where, reason=connection.denied) from error
            raise Unavailable(operation=where, seconds=2) from error
        client.options["max_reconnect_attempts"] = -1  # bounded until it stood once, then for ever
        try:
            await connection._begin()
        except BaseException:
            await client.close()
            raise
        return connection

    async def _on_error(self, error: Exception) -> None:
        text = str(error).lower()
        connecting = self._ticker is None
        if "permissions violation" in text or (connecting and "auth" in text):
            self.denied = str(error)

    async def _on_disconnected(self) -> None:
        """No answer will come over a connection that is gone."""
        self.denied = None
        self._fail_pending()

    async def _on_reconnected(self) -> None:
        for callback in tuple(self.after_reconnect):
            await callback()

    async def _begin(self) -> None:
        if _version(self.server.version) < REQUIRED_SERVER:
            required = ".".join(map(str, REQUIRED_SERVER))
            raise ServerTooOld(version=self.server.version, url=redact(self.config.url), required=required)
        self._inbox = self.client.new_inbox() + "."
        await self.subscribe(self._inbox + "*", self._on_reply)
        await self.subscribe(self._inbox + "many.*", self._on_one_of_many)
        self._ticker = asyncio.create_task(self._sweep(), name="nats-timeouts")

    @property
    def server(self) -> ServerInfo:
        info = self.client._server_info  # noqa: SLF001 - no public way to the cluster's name
        url = self.client.connected_url
        return ServerInfo(
            version=info.get("version", "0"),
            url=redact(url.geturl()) if url else redact(self.config.url),
            cluster=info.get("cluster", ""),
            max_payload=self.client.max_payload,
        )

    @property
    def message_max(self) -> int:
        """The largest payload that fits one message."""
        return self.client.max_payload - _HEADER_ROOM

    @property
    def connected(self) -> bool:
        return self.client.is_connected

    async def close(self) -> None:
        if self._ticker is not None:
            self._ticker.cancel()
            self._ticker = None
        with contextlib.suppress(nats.errors.Error, OSError, TimeoutError):
            if self.client.is_connected:
                await self.client.flush(timeout=2)
        with contextlib.suppress(OSError):  # nats-py flushes once more, perhaps into a socket that just broke
            await self.client.close()
        self._fail_pending()

    # -- writing

    async def send(self, subject: str, payload: bytes, headers: Headers | None, operation: str) -> asyncio.Future[Ack]:
        """Publish now; the future gives the acknowledgement, a `Refused`, or `Unavailable` after the time-out."""
        self._check_connected(operation)
        token = str(next(self._serial))
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Ack] = loop.create_future()
        self._pending[token] = (future, loop.time() + self.config.request_timeout, operation)
        try:
            await self._publish(subject, payload, self._inbox + token, headers, operation)
        except BaseException:
            self._pending.pop(token, None)  # unless a disconnection was quicker
            raise
        return future

    async def write(self, subject: str, payload: bytes, headers: Headers | None, operation: str) -> Ack:
        """Publish and wait, trying again while the server is away.

        Only for writes that may be repeated: guarded by an expected sequence, or carrying a message id.
        """
        return await self.persist(lambda: self._write_once(subject, payload, headers, operation))

    async def _write_once(self, subject: str, payload: bytes, headers: Headers | None, operation: str) -> Ack:
        return await (await self.send(subject, payload, headers, operation))

    async def persist(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Repeat `attempt` while it says `Unavailable`, for as long as configured."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.config.retry_for
        delay = 0.02
        while True:
            try:
                return await attempt()
            except Unavailable as error:
                if loop.time() + delay > deadline or self.client.is_closed:
                    raise Unavailable(**error.attributes | {"seconds": self.config.retry_for}) from error
            await asyncio.sleep(delay)
            delay = min(delay * 2, 1.0)

    # -- asking

    async def api(self, subject: str, request: object = None) -> dict[str, Any]:
        """One request to the JetStream API; raises `Refused` or `Unavailable`."""
        payload = msgspec.json.encode(request) if request is not None else b""
        reply = await self.request(f"$JS.API.{subject}", payload)
        answer: dict[str, Any] = msgspec.json.decode(reply.data)
        if "error" in answer:
            raise Refused(msgspec.convert(answer["error"], Refusal), subject).unless_away()
        return answer

    async def request(self, subject: str, payload: bytes) -> Msg:
        self._check_connected(subject)
        try:
            return await self.client.request(subject, payload, timeout=self.config.request_timeout)
        except _AWAY as error:
            raise self._away(subject) from error

    async def request_many(self, subject: str, payload: bytes) -> tuple[list[Msg], Msg]:
        """One request, many replies, ended by a status: the replies, and that status."""
        self._check_connected(subject)
        token = str(next(self._serial))
        loop = asyncio.get_running_loop()
        collected = self._collecting[token] = _Collected([], loop.create_future())
        try:
            await self._publish(subject, payload, f"{self._inbox}many.{token}", None, subject)
            while True:
                seen = len(collected.replies)
                done, _ = await asyncio.wait([collected.status], timeout=self.config.request_timeout)
                if done:
                    return collected.replies, collected.status.result()
                if len(collected.replies) == seen:
                    raise self._away(subject)
        finally:
            del self._collecting[token]

    async def subscribe(self, subject: str, handler: Handler) -> Callable[[], Awaitable[None]]:
        """Call `handler` for each message; gives back how to stop. What bounds the flow is the puller."""
        subscription = await self.client.subscribe(subject, cb=handler, pending_msgs_limit=-1, pending_bytes_limit=-1)

        async def stop() -> None:
            with contextlib.suppress(nats.errors.Error):
                await subscription.unsubscribe()

        return stop

    async def tell(self, subject: str, payload: bytes, reply: str = "", headers: Headers | None = None) -> None:
        """Publish without asking for an answer: acks, pull requests."""
        await self._publish(subject, payload, reply, headers, subject)

    # -- inside

    def _check_connected(self, operation: str) -> None:
        """Whatever awaits an answer is not left in the client's buffer: it would go out, unasked, much later."""
        if not self.client.is_connected:
            raise self._away(operation)

    async def _publish(self, subject: str, payload: bytes, reply: str, headers: Headers | None, operation: str) -> None:
        if len(payload) > self.message_max:
            raise TooLarge(what=operation, size=len(payload), limit=self.message_max)
        try:
            await self.client.publish(subject, payload, reply=reply, headers=headers)
        except _AWAY as error:
            raise self._away(operation) from error

    async def _on_reply(self, message: Msg) -> None:
        entry = self._pending.pop(message.subject[len(self._inbox) :], None)
        if entry is None or entry[0].done():
            return
        future, _, operation = entry
        if not message.data:  # a bare status: nobody listens on the subject
            future.set_exception(self._away(operation))
            return
        try:
            ack = decode_ack(message.data)
        except msgspec.DecodeError:
            future.set_exception(self._away(operation))
            return
        if ack.error is None:
            future.set_result(ack)
        else:
            future.set_exception(Refused(ack.error, operation).unless_away())

    async def _on_one_of_many(self, message: Msg) -> None:
        collected = self._collecting.get(message.subject.rpartition(".")[2])
        if collected is None:
            return
        headers = message.headers
        if headers is not None and "Status" in headers and not message.data:
            if not collected.status.done():
                collected.status.set_result(message)
        else:
            collected.replies.append(message)

    async def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(_SWEEP)
            now = loop.time()
            # Oldest first, all with the same time-out: stop at the first that still has time.
            while self._pending:
                token, (future, deadline, operation) = next(iter(self._pending.items()))
                if deadline > now:
                    break
                del self._pending[token]
                if not future.done():
                    future.set_exception(self._away(operation))

    def _fail_pending(self) -> None:
        for future, _, operation in self._pending.values():
            if not future.done():
                future.set_exception(self._away(operation))
                future.exception()  # seen: a writer that gave up must not leave a warning behind
        self._pending.clear()
        for collected in self._collecting.values():
            if not collected.status.done():
                collected.status.set_exception(self._away("a read"))

    def _away(self, operation: str) -> FabricError:
        if self.denied is not None:
            reason, self.denied = self.denied, None
            return PermissionDenied(operation=operation, reason=reason)
        return Unavailable(operation=operation, seconds=self.config.request_timeout)


def _credentials(config: NatsConfig) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if config.user:
        options |= {"user": config.user, "password": config.password}
    if config.token:
        options["token"] = config.token
    if config.credentials:
        options["user_credentials"] = config.credentials
    if config.tls_ca or config.tls_cert:
        context = ssl.create_default_context(cafile=config.tls_ca or None)
        if config.tls_cert:
            context.load_cert_chain(config.tls_cert, config.tls_key or None)
        options["tls"] = context
    return options


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.partition("-")[0].split(".") if part.isdigit())


__all__ = ["Connection", "Headers", "ServerInfo"]
