"""Continuous pull from one consumer.

Requests overlap, so that the server never waits for us to ask; what is asked for plus what lies here unread
stays below `window`, so that it never drowns us either. Heartbeats tell a quiet consumer from a lost one.

    asked ──deliver──▶ waiting ──take──▶ in hand ──ack──▶ gone
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable

import msgspec
from nats.aio.msg import Msg

from penstock.fabric.errors import ConsumerGone, FabricError, Unavailable
from penstock.fabric.jetstream.connection import Connection
from penstock.fabric.jetstream.consumers import consumer_exists
from penstock.fabric.jetstream.delivery import Delivery

_HEARTBEAT, _CONFLICT = "100", "409"


class Pull:
    def __init__(
        self,
        connection: Connection,
        stream: str,
        consumer: str,
        *,
        window: int = 512,
        expires: float = 30.0,
        heartbeat: float = 2.0,
    ) -> None:
        self._connection = connection
        self._stream = stream
        self._consumer = consumer
        self._window = window
        self._expires = expires
        self._heartbeat = heartbeat
        self._subject = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"
        self._waiting: deque[Delivery] = deque()
        self._asked = 0
        self._heard = 0.0
        self._arrived = asyncio.Event()
        self._gone = False
        self._stopped = False
        self._inbox = ""
        self._unsubscribe: Callable[[], Awaitable[None]] | None = None
        self._watchdog: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._inbox = self._connection.client.new_inbox()
        self._unsubscribe = await self._connection.subscribe(self._inbox, self._on_message)
        self._connection.after_reconnect.add(self._ask_again)
        await self._ask_again()
        self._watchdog = asyncio.create_task(self._watch(), name=f"pull {self._consumer}")

    async def take(self, limit: int) -> list[Delivery]:
        """At least one delivery, at most `limit`; none once stopped. `ConsumerGone` if someone removed it."""
        waiting = self._waiting
        while not waiting:
            if self._gone:
                raise ConsumerGone(consumer=self._consumer, stream=self._stream)
            if self._stopped:
                return []
            self._arrived.clear()
            await self._arrived.wait()
        if len(waiting) <= limit:
            taken = list(waiting)
            waiting.clear()
        else:
            taken = [waiting.popleft() for _ in range(limit)]
        await self._ask()
        return taken

    async def stop(self) -> None:
        """Stop asking, and hand back at once what nobody took: another puller need not wait for the lease."""
        self._stopped = True
        self._arrived.set()
        self._connection.after_reconnect.discard(self._ask_again)
        if self._watchdog is not None:
            self._watchdog.cancel()
        if self._unsubscribe is not None:
            await self._unsubscribe()
        with contextlib.suppress(FabricError):  # the server is away: so is its consumer's memory of us, soon
            while self._waiting and not self._gone:
                await self._waiting.popleft().nak()

    async def _ask(self) -> None:
        room = self._window - self._asked - len(self._waiting)
        # Half a window at a time: few requests under load, and always one more under way.
        if self._stopped or self._gone or room < self._window // 2 or not self._connection.connected:
            return
        self._asked += room
        request = {
            "batch": room,
            "expires": int(self._expires * 1e9),
            "idle_heartbeat": int(self._heartbeat * 1e9),
        }
        try:
            await self._connection.tell(self._subject, msgspec.json.encode(request), self._inbox)
        except Unavailable:
            self._asked -= room

    async def _ask_again(self) -> None:
        """What was asked for before is not coming any more."""
        self._asked = 0
        self._heard = asyncio.get_running_loop().time()
        await self._ask()

    async def _on_message(self, message: Msg) -> None:
        self._heard = asyncio.get_running_loop().time()
        headers = message.headers
        if headers is not None and not message.data and "Status" in headers:
            await self._on_status(headers)
            return
        self._asked -= 1
        self._waiting.append(Delivery(self._connection, message))
        if not self._arrived.is_set():
            self._arrived.set()
        if self._asked <= self._window // 4:
            await self._ask()

    async def _on_status(self, headers: dict[str, str]) -> None:
        status = headers["Status"]
        if status == _HEARTBEAT:
            return
        # A request ended (time-out, leader change, deleted consumer): it says how much of it was left.
        self._asked = max(0, self._asked - int(headers.get("Nats-Pending-Messages", self._asked)))
        if status == _CONFLICT and "Consumer Deleted" in headers.get("Description", ""):
            self._lose()
        elif status.startswith("408"):
            await self._ask()
        # Anything else is left to the watchdog: asking again at once would spin while there is no leader.

    async def _watch(self) -> None:
        """Nothing heard for a while: the server restarted, the leader moved, or the consumer is gone."""
        loop = asyncio.get_running_loop()
        while not self._gone:
            await asyncio.sleep(self._heartbeat / 4)
            quiet = loop.time() - self._heard
            if self._asked and quiet < 2 * self._heartbeat:
                continue
            if not self._asked and len(self._waiting) > self._window // 2:
                continue  # full: the taker is slow, and nothing is expected
            try:
                if not await consumer_exists(self._connection, self._stream, self._consumer):
                    self._lose()
                    return
            except FabricError:
                continue
            await self._ask_again()

    def _lose(self) -> None:
        self._gone = True
        self._waiting.clear()
        self._arrived.set()
