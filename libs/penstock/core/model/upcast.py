"""Events as bytes: how they are written, and how those of older versions are read.

An event's tag is its type, and from its second version on `type@version`: `node.completed`, `node.completed@2`. A new
field with a default is no new version: who wrote before it gave the default, who reads without knowing it skips it.
Any other change is one: the struct's tag counts up, and `UPCASTS` gains the way from the old tag to the new. An event
that is no longer made keeps its struct, or its way into another's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, Union

import msgspec

from penstock.core.errors import PenstockError
from penstock.core.model.events import EVENTS, Event

Fields: TypeAlias = dict[str, Any]
"""An event as it was written, with its tag under `type`."""

UPCASTS: dict[str, Callable[[Fields], Fields]] = {}
"""By the tag that it reads: the fields of the next version, with that version's tag. Pure; it may change its argument.

Every version that was ever released has one, so that any log can be read for ever, one step at a time.
"""


class EventUnknown(PenstockError):
    """A newer Penstock wrote this event: {type}, version {version}.

    Upgrade this process; the run has not been touched.
    """

    code = "EVENT_UNKNOWN"


class EventMalformed(PenstockError):
    """This is not an event: {reason}.

    Something other than Penstock wrote to the log, or the storage damaged it: `penstock verify` says where.
    """

    code = "EVENT_MALFORMED"


_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Event] = msgspec.msgpack.Decoder(Union[EVENTS])  # noqa: UP007 - made of a tuple
_fields = msgspec.msgpack.Decoder(Fields)
_TAGS = frozenset(event.__struct_config__.tag for event in EVENTS)


def encode_event(event: Event) -> msgspec.Raw:
    return msgspec.Raw(_encoder.encode(event))


def decode_event(raw: bytes | msgspec.Raw) -> Event:
    """Of any version up to ours. Raises `EventUnknown` or `EventMalformed`."""
    try:
        return _decoder.decode(raw)
    except msgspec.ValidationError as problem:
        return _upcast(raw, problem)
    except msgspec.DecodeError as problem:
        raise EventMalformed(reason=str(problem)) from problem


def decode_events(raws: Iterable[bytes | msgspec.Raw]) -> list[Event]:
    """Of a commit."""
    return [decode_event(raw) for raw in raws]


def version_of(tag: str) -> tuple[str, int]:
    """The type's name, and which version of it: what people see is the name."""
    name, _, version = tag.partition("@")
    return name, int(version) if version.isdecimal() else 1


def _upcast(raw: bytes | msgspec.Raw, problem: msgspec.ValidationError) -> Event:
    """Step by step to the version that we know. Here is everything that did not fit at once, the damaged included."""
    try:
        fields = _fields.decode(raw)
    except msgspec.DecodeError:
        raise EventMalformed(reason=str(problem)) from problem
    tag = fields.get("type")
    if not isinstance(tag, str) or tag in _TAGS:
        raise EventMalformed(reason=str(problem)) from problem
    while tag in UPCASTS:
        fields = UPCASTS[tag](fields)
        tag = fields["type"]
    if tag not in _TAGS:
        name, version = version_of(tag)
        raise EventUnknown(type=name, version=version) from problem
    try:
        return _decoder.decode(_encoder.encode(fields))
    except msgspec.ValidationError as misfit:
        raise EventMalformed(reason=str(misfit)) from misfit
