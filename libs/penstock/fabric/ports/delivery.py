"""A message lent to whoever took it: acknowledged it is gone, handed back it comes again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol


class Received(Protocol):
    @property
    def subject(self) -> str: ...
    @property
    def data(self) -> bytes: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def sequence(self) -> int:
        """Its place in the stream."""
        ...

    @property
    def deliveries(self) -> int:
        """How often it was handed out, this time included."""
        ...

    async def ack(self) -> None: ...
    async def ack_confirmed(self) -> None:
        """Acknowledge, and wait until that is known to have arrived."""
        ...

    async def nak(self, delay: float = 0.0) -> None:
        """Hand it back, to be delivered again after `delay` seconds."""
        ...

    async def term(self) -> None:
        """Never deliver it again."""
        ...

    async def extend(self) -> None:
        """Keep it for another lease."""
        ...


class Inbox(Protocol):
    """Deliveries of one consumer, in order."""

    async def take(self, limit: int) -> Sequence[Received]:
        """At least one, at most `limit`; none once stopped. `ConsumerGone` if the consumer was removed."""
        ...

    async def stop(self) -> None:
        """Take no more, and hand back what was not taken."""
        ...
