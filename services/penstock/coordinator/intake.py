"""What comes out of a shard's queues, as inputs of the loop; and what it holds until it is told what becomes of it."""

from __future__ import annotations

from itertools import count

import msgspec

from penstock.core.model.commands import Command
from penstock.core.model.commit import RunKey
from penstock.core.model.events import Fault
from penstock.core.model.time import Instant
from penstock.core.turn import Deliver, TimerDue
from penstock.core.turn.inputs import Delivery
from penstock.fabric.errors import IllegalName
from penstock.fabric.jetstream.commands import MESSAGE_ID
from penstock.fabric.naming import Names
from penstock.fabric.ports.deadletters import DeadLetter
from penstock.fabric.ports.delivery import Received
from penstock.fabric.ports.schedules import Timer, encode_timer
from penstock.wire.command import decode_command
from penstock.wire.result import decode_result

COMMANDS = "commands"
"""The queue under which dead commands are kept."""
_STRANGERS = RunKey("default", "misaddressed")


class Held(msgspec.Struct, frozen=True):
    """A message of the server's, or a timer that fired in memory and is known to nobody else."""

    key: RunKey
    message: Received | None
    timer: Timer | None = None
    deliveries: int = 1

    def letter(self, cause: Fault, at: Instant) -> DeadLetter:
        """Named as the collector names what the server gave up on."""
        message, timer = self.message, self.timer
        number, body, headers = 0, b"", dict[str, str]()
        if message is not None:
            number, body, headers = message.sequence, message.data, dict(message.headers)
        elif timer is not None:
            number, body = timer.due, encode_timer(timer)
        return DeadLetter(
            tenant=self.key.tenant,
            queue=COMMANDS,
            id=f"{self.key.run}-{number}",
            cause=f"{cause.code}: {cause.message}",
            body=body,
            at=at,
            deliveries=self.deliveries,
            headers=headers,
        )


class Intake:
    def __init__(self, names: Names) -> None:
        self._names = names
        self._numbers = count(1)
        self._held: dict[Delivery, Held] = {}

    def command(self, message: Received) -> Deliver | Held:
        """A command or a result for its run; just `Held` if it is on a subject that is no run's."""
        key = self._address(message.subject)
        if key is None:
            return Held(_STRANGERS, message, deliveries=message.deliveries)
        delivery, deliveries = self._hold(Held(key, message)), message.deliveries
        name = message.headers.get(MESSAGE_ID) or f"seq.{message.sequence}"
        try:
            command, reply = self._read(key, message)
        except msgspec.DecodeError as error:
            return Deliver(delivery, key, name, None, deliveries, problem=str(error))
        return Deliver(delivery, key, name, command, deliveries, reply)

    def timer(self, timer: Timer, message: Received | None, deliveries: int) -> TimerDue:
        delivery = self._hold(Held(timer.key, message, timer, deliveries))
        return TimerDue(delivery, timer.key, timer.id, timer.due, deliveries)

    def release(self, delivery: Delivery) -> Held:
        return self._held.pop(delivery)

    def _hold(self, held: Held) -> Delivery:
        delivery = next(self._numbers)
        self._held[delivery] = held
        return delivery

    def _address(self, subject: str) -> RunKey | None:
        """The run whose queue this is: what comes for another shard's must not be decided here."""
        try:
            key = self._names.run_of(subject)
            expected = self._names.result(key) if _is_result(subject) else self._names.command(key)
        except (IndexError, IllegalName):
            return None
        return key if subject == expected else None

    def _read(self, key: RunKey, message: Received) -> tuple[Command, str]:
        if _is_result(message.subject):
            return decode_result(key.run, message.data, message.headers), ""
        read = decode_command(message.data)
        return read.command, read.reply


def _is_result(subject: str) -> bool:
    return subject.split(".", 2)[1] == "res"
