"""What a commit keeps of the commands that caused it: enough to decide them again, and no payload twice (rule 10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Union

import msgspec

from penstock.core.model.commands import COMMANDS, Command
from penstock.core.model.commit import Cause, Commit
from penstock.core.model.decider import NO_FACTS, Facts, Memo
from penstock.core.model.evaluate import Failure
from penstock.core.model.events import Event
from penstock.core.model.upcast import decode_events

INCIDENT = "incident"
"""The kind of cause that is no command: its event says what went wrong with one."""

TAGS: dict[type[Command], str] = {command: str(command.__struct_config__.tag) for command in COMMANDS}

_SMALL = 512
"""Bytes of a command that are kept as they are."""
_PAYLOADS = ("output", "input", "payload", "data")
"""Fields of commands and events in which payloads travel."""

_ARRAY = 0x94
"""How what is more than the bare command begins in msgpack; that is a map."""


class _Asked(msgspec.Struct, frozen=True, array_like=True):
    command: msgspec.Raw
    memos: dict[str, Memo | None] = {}
    """Found or not, they may be other ones by the time the command is decided again."""
    lacking: dict[str, Failure] = {}
    """Blobs that were not there; the others are found by their names."""
    lent: tuple[str, int, str] | None = None
    """A field of the command that is to be found in one of its events: the event's index, and its field."""


class Recalled(msgspec.Struct, frozen=True):
    """A cause as it was: decided again at the commit's time, it must give the same events."""

    id: str
    kind: str
    command: Command | None
    """None: an incident."""
    facts: Facts
    events: list[Event]


_encoder = msgspec.msgpack.Encoder()
_commands: msgspec.msgpack.Decoder[Command] = msgspec.msgpack.Decoder(Union[COMMANDS])  # noqa: UP007 - made of a tuple
_asked = msgspec.msgpack.Decoder(_Asked)


def cause_of(id: str, command: Command, facts: Facts, events: Sequence[Event]) -> Cause:  # noqa: A002 - the command's
    body = _encoder.encode(command)
    lent = None
    if len(body) > _SMALL and (lent := _lent(command, events)) is not None:
        body = _encoder.encode(msgspec.structs.replace(command, **{lent[0]: None}))
    lacking = {name: blob for name, blob in facts.blobs.items() if isinstance(blob, Failure)} if facts.blobs else {}
    if lent is not None or facts.memos or lacking:
        body = _encoder.encode(_Asked(msgspec.Raw(body), dict(facts.memos), lacking, lent))
    return Cause(id, TAGS[type(command)], len(events), msgspec.Raw(body))


def incident_cause(id: str) -> Cause:  # noqa: A002 - the cause's
    return Cause(id, INCIDENT, 1)


def recall(commit: Commit) -> list[Recalled]:
    """What was asked, and what came of each. Definitions and blobs are to be fetched again: their names are digests."""
    events = decode_events(commit.events)
    found, first = [], 0
    for cause in commit.causes:
        mine = events[first : first + cause.events]
        first += cause.events
        command, facts = (None, NO_FACTS) if cause.kind == INCIDENT else _recall(cause, mine)
        found.append(Recalled(cause.id, cause.kind, command, facts, mine))
    return found


def _recall(cause: Cause, events: Sequence[Event]) -> tuple[Command, Facts]:
    if bytes(cause.data)[0] != _ARRAY:
        return _commands.decode(cause.data), NO_FACTS
    asked = _asked.decode(cause.data)
    command = _commands.decode(asked.command)
    if asked.lent is not None:
        field, index, where = asked.lent
        command = msgspec.structs.replace(command, **{field: getattr(events[index], where)})
    return command, Facts(memos=asked.memos, blobs=asked.lacking)


def _lent(command: Command, events: Sequence[Event]) -> tuple[str, int, str] | None:
    """Where the command's payload, that very object, went into an event."""
    for field in _PAYLOADS:
        payload = getattr(command, field, None)
        if payload is None:
            continue
        for index, event in enumerate(events):
            for where in _PAYLOADS:
                if getattr(event, where, None) is payload:
                    return field, index, where
    return None
