"""Events as bytes: every type goes there and back, and any older version of it can be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import inspect

from penstock.core.model.events import EVENTS, Event
from penstock.core.model.upcast import (
    UPCASTS,
    EventMalformed,
    EventUnknown,
    decode_event,
    decode_events,
    encode_event,
    version_of,
)

Json: TypeAlias = Any

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
INTEGERS = st.integers(-(2**63), 2**63 - 1)


def tag(event: type[Event]) -> str:
    return str(event.__struct_config__.tag)


each_type = pytest.mark.parametrize("event", EVENTS, ids=tag)


def values(kind: inspect.Type) -> st.SearchStrategy[Json]:
    """Anything that fits the type."""
    return FITTING[type(kind)](kind)


def structs(kind: inspect.StructType) -> st.SearchStrategy[Json]:
    needed = {field.name: values(field.type) for field in kind.fields if field.required}
    optional = {field.name: values(field.type) for field in kind.fields if not field.required}
    return st.fixed_dictionaries(needed, optional=optional).map(lambda fields: kind.cls(**fields))


FITTING: dict[type[inspect.Type], Callable[[Any], st.SearchStrategy[Json]]] = {
    inspect.AnyType: lambda _: JSON,
    inspect.BoolType: lambda _: st.booleans(),
    inspect.DictType: lambda kind: st.dictionaries(values(kind.key_type), values(kind.value_type), max_size=3),
    inspect.FloatType: lambda _: st.floats(allow_nan=False),
    inspect.IntType: lambda _: INTEGERS,
    inspect.ListType: lambda kind: st.lists(values(kind.item_type), max_size=3),
    inspect.LiteralType: lambda kind: st.sampled_from(kind.values),
    inspect.NoneType: lambda _: st.none(),
    inspect.StrType: lambda _: st.text(max_size=8),
    inspect.StructType: structs,
    inspect.UnionType: lambda kind: st.one_of(*map(values, kind.types)),
    inspect.VarTupleType: lambda kind: st.lists(values(kind.item_type), max_size=3).map(tuple),
}


def instances(event: type[Event]) -> st.SearchStrategy[Event]:
    kind = inspect.type_info(event)
    assert isinstance(kind, inspect.StructType)
    return structs(kind)


def written(event: Event, **more: Json) -> dict[str, Json]:
    """As the log has it."""
    fields: dict[str, Json] = msgspec.msgpack.decode(encode_event(event))
    return fields | more


def packed(fields: Json) -> bytes:
    return msgspec.msgpack.encode(fields)


@each_type
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_every_event_goes_there_and_back(event: type[Event], data: st.DataObject) -> None:
    made = data.draw(instances(event))
    assert decode_event(encode_event(made)) == made
    assert decode_event(bytes(encode_event(made))) == made


@each_type
@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_a_field_that_a_newer_release_added_is_skipped(event: type[Event], data: st.DataObject) -> None:
    made = data.draw(instances(event))
    assert decode_event(packed(written(made, added_later={"by": "somebody"}))) == made


@each_type
@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_a_field_that_an_older_release_did_not_know_takes_its_default(event: type[Event], data: st.DataObject) -> None:
    kind = inspect.type_info(event)
    assert isinstance(kind, inspect.StructType)
    needed = {field.name for field in kind.fields if field.required}
    old = {name: value for name, value in written(data.draw(instances(event))).items() if name in needed | {"type"}}
    decoded = decode_event(packed(old))
    bare = event(**{name: getattr(decoded, name) for name in needed})
    assert decoded == bare


@each_type
@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_every_event_of_an_older_version_is_upcast_step_by_step(event: type[Event], data: st.DataObject) -> None:
    """Two versions before today's are made up: one lacked a field's name, the one before it also had another type."""
    made = data.draw(instances(event))
    now, (name, version) = tag(event), version_of(tag(event))
    older, oldest = f"{name}@{version - 1}", f"{name}@{version - 2}"
    fields = written(made)
    old = {f"old_{key}": value for key, value in fields.items() if key != "type"} | {"type": oldest}

    def from_oldest(raw: dict[str, Json]) -> dict[str, Json]:
        return {key.replace("old_", "new_"): value for key, value in raw.items()} | {"type": older}

    def from_older(raw: dict[str, Json]) -> dict[str, Json]:
        return {key.removeprefix("new_"): value for key, value in raw.items()} | {"type": now}

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(UPCASTS, oldest, from_oldest)
        patch.setitem(UPCASTS, older, from_older)
        assert decode_event(packed(old)) == made
        assert decode_event(packed({key.replace("old_", "new_"): old[key] for key in old} | {"type": older})) == made
        assert decode_event(encode_event(made)) == made


@each_type
@settings(max_examples=1, deadline=None)
@given(data=st.data())
def test_a_version_that_is_newer_than_ours_names_itself(event: type[Event], data: st.DataObject) -> None:
    name, version = version_of(tag(event))
    with pytest.raises(EventUnknown) as caught:
        decode_event(packed(written(data.draw(instances(event)), type=f"{name}@{version + 1}")))
    assert caught.value.attributes == {"type": name, "version": version + 1}


def test_a_type_that_we_do_not_know_names_itself() -> None:
    with pytest.raises(EventUnknown) as caught:
        decode_event(packed({"type": "token.teleported", "token": 1}))
    assert caught.value.attributes == {"type": "token.teleported", "version": 1}


MALFORMED = {
    "not msgpack": b"\xc1",
    "empty": b"",
    "cut": packed({"type": "token.held", "token": 1})[:-1],
    "a list": packed([1]),
    "no type": packed({"token": 1}),
    "a type that is a number": packed({"type": 3}),
    "a type that is an object": packed({"type": {}}),
    "a field of the wrong type": packed({"type": "token.held", "token": "one"}),
    "a field missing": packed({"type": "token.held"}),
    "a key that is no text": packed({1: 2}),
}


@pytest.mark.parametrize("raw", MALFORMED.values(), ids=MALFORMED.keys())
def test_what_is_no_event_is_told_from_what_is_too_new(raw: bytes) -> None:
    with pytest.raises(EventMalformed):
        decode_event(raw)


def test_an_upcast_that_gives_no_event_is_malformed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(UPCASTS, "token.held@0", lambda raw: raw | {"type": "token.held"})
    with pytest.raises(EventMalformed):
        decode_event(packed({"type": "token.held@0", "token": "one"}))


def test_an_event_may_live_on_under_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(UPCASTS, "token.kept", lambda raw: raw | {"type": "token.held"})
    assert tag(type(decode_event(packed({"type": "token.kept", "token": 1})))) == "token.held"


def test_a_commit_is_read_in_order() -> None:
    raws = [packed({"type": "token.held", "token": number}) for number in range(3)]
    assert [getattr(event, "token", None) for event in decode_events(raws)] == [0, 1, 2]


def test_no_upcast_takes_what_is_of_today() -> None:
    """The step of a released version is shown at work by a history of that version, under `tests/histories`."""
    assert UPCASTS.keys() & {tag(event) for event in EVENTS} == set()


def test_types_are_unique_and_dotted() -> None:
    names = [version_of(tag(event))[0] for event in EVENTS]
    assert len(names) == len(set(names))
    assert [name for name in names if "." not in name] == []
