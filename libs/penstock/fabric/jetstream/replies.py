"""What JetStream answers, decoded, and which of our errors each refusal is."""

from __future__ import annotations

import msgspec

from penstock.fabric.errors import FabricError, RequestRefused, StorageFull, TooLarge, Unavailable

WRONG_LAST_SEQUENCE = 10071
WRONG_LAST_SEQUENCE_IN_FLIGHT = 10164
STORE_FAILED = 10077
STREAM_NOT_FOUND = 10059
CONSUMER_NOT_FOUND = 10014
MESSAGE_NOT_FOUND = 10037
SECOND_WORK_QUEUE_CONSUMER = 10099
OVERLAPPING_WORK_QUEUE_CONSUMER = 10100
CONFLICTS = frozenset({WRONG_LAST_SEQUENCE, WRONG_LAST_SEQUENCE_IN_FLIGHT})

_FULL = frozenset({10023, 10028, 10047, 10122})
_AWAY = frozenset({10005, 10008, 10009, 10118, 10120, 10158})
"""10158: a message of the same id is still on its way through the cluster; asking again tells what became of it."""
_MESSAGE_TOO_LARGE = frozenset({10054, 10097})


class Refusal(msgspec.Struct, frozen=True):
    code: int = 0
    err_code: int = 0
    description: str = ""


class Ack(msgspec.Struct, frozen=True):
    """The answer to a publish."""

    seq: int = 0
    duplicate: bool = False
    val: str | None = None
    error: Refusal | None = None


class Refused(Exception):
    """The server said no. Adapters look at the number before it becomes an error of ours."""

    def __init__(self, refusal: Refusal, operation: str) -> None:
        super().__init__(refusal.description)
        self.refusal = refusal
        self.operation = operation

    @property
    def number(self) -> int:
        return self.refusal.err_code

    @property
    def per_subject(self) -> bool:
        """The subject already holds all the messages it may."""
        return self.number == STORE_FAILED and "per subject" in self.refusal.description

    def in_flight(self) -> Unavailable | None:
        """Another write to the subject is under way, perhaps our own that timed out: ask again once it is decided."""
        waiting = self.number == WRONG_LAST_SEQUENCE_IN_FLIGHT
        return Unavailable(operation=self.operation, seconds=0) if waiting else None

    def unless_away(self) -> Refused | Unavailable:
        """Itself, for the adapter to look at, unless the server only cannot answer now."""
        error = self.as_error()
        return error if isinstance(error, Unavailable) else self

    def as_error(self) -> FabricError:
        number, reason = self.number, self.refusal.description
        if number in _FULL or (number == STORE_FAILED and ("maximum" in reason or "space" in reason)):
            return StorageFull(operation=self.operation, reason=reason)
        if number in _MESSAGE_TOO_LARGE:
            return TooLarge(what=self.operation, size="too many", limit="the stream's maximum")
        if number in _AWAY:
            return Unavailable(operation=self.operation, seconds=0)
        return RequestRefused(operation=self.operation, reason=reason, number=number)


_ack_decoder = msgspec.json.Decoder(Ack)


def decode_ack(data: bytes) -> Ack:
    return _ack_decoder.decode(data)
