"""The commit: its bytes, its chain, and the version that both carry."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.model.commit import (
    EMPTY,
    FORMAT,
    Cause,
    Commit,
    Head,
    RunKey,
    decode_commit,
    digest,
    encode_commit,
)
from penstock.core.model.time import Instant
from penstock.fabric.errors import LogBroken, Undecodable
from penstock.fabric.ports.log import Append, Logged, check_chain, logged

KEY = RunKey("acme", "r-1")

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
RAW = JSON.map(lambda value: msgspec.Raw(msgspec.msgpack.encode(value)))
EVENTS = st.lists(RAW, max_size=4).map(tuple)
CAUSES = st.lists(st.builds(Cause, st.text(max_size=8), st.text(max_size=8), st.integers(0, 9), RAW), max_size=3)
COMMITS = st.builds(
    Commit,
    format=st.just(FORMAT),
    run=st.text(max_size=12),
    first=st.integers(0, 2**53),
    at=st.integers(0, 2**60).map(Instant),
    causes=CAUSES.map(tuple),
    events=EVENTS,
    prev=st.sampled_from([b"", b"p" * 16]),
)


def chain(batches: Sequence[tuple[msgspec.Raw, ...]], key: RunKey = KEY) -> list[tuple[int, bytes]]:
    """Sequences and bodies of a run's log, with gaps between them as other runs leave them."""
    head, bodies = EMPTY, []
    for number, events in enumerate(batches, 1):
        body, after = Append(key, f"c-{number}", head, Instant(number), events).encode()
        head = Head(number * 3, after.digest, after.events)
        bodies.append((head.sequence, body))
    return bodies


def read(bodies: Sequence[tuple[int, bytes]], after: Head = EMPTY, key: RunKey = KEY) -> list[Logged]:
    return check_chain(key, [logged(key, "c", sequence, body) for sequence, body in bodies], after)


def raw(*values: object) -> tuple[msgspec.Raw, ...]:
    return tuple(msgspec.Raw(msgspec.msgpack.encode(value)) for value in values)


@given(COMMITS)
def test_a_commit_comes_back_as_it_was(commit: Commit) -> None:
    assert decode_commit(encode_commit(commit)) == commit


@given(COMMITS)
def test_the_same_commit_is_always_the_same_bytes(commit: Commit) -> None:
    body = encode_commit(commit)
    assert encode_commit(decode_commit(body)) == body
    assert digest(body) == digest(bytes(bytearray(body)))


def test_the_envelope_is_spelt_as_documented() -> None:
    body, head = Append(KEY, "c-1", EMPTY, Instant(7), raw("e"), (Cause("cmd", "start", 1),)).encode()
    assert msgspec.msgpack.decode(body) == {
        "v": FORMAT,
        "run": "r-1",
        "first": 0,
        "at": 7,
        "causes": [["cmd", "start", 1, None]],
        "events": ["e"],
    }
    follower, _ = Append(KEY, "c-2", head, Instant(8), raw("e")).encode()
    assert msgspec.msgpack.decode(follower)["prev"] == head.digest


def test_the_version_is_the_first_thing_in_the_bytes() -> None:
    body, _ = Append(KEY, "c-1", EMPTY, Instant(0), raw("e")).encode()
    assert body[1:].startswith(msgspec.msgpack.encode("v") + msgspec.msgpack.encode(FORMAT))


def test_a_digest_is_half_a_sha_256() -> None:
    assert digest(b"commit") == sha256(b"commit").digest()[:16]


def test_the_commit_id_is_not_part_of_the_bytes() -> None:
    one, other = (Append(KEY, name, EMPTY, Instant(0), raw("e")).encode() for name in ("c-1", "c-2"))
    assert one == other


@pytest.mark.parametrize(
    "body",
    [b"", b"\xc1", b"not a commit", msgspec.msgpack.encode({"v": 1}), msgspec.msgpack.encode([1, 2]), b"\x80"],
    ids=["empty", "reserved byte", "text", "too little", "a list", "an empty map"],
)
def test_bytes_that_are_no_commit_are_a_typed_error(body: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_commit(body)
    with pytest.raises(Undecodable):
        logged(KEY, "c-1", 1, body)


@given(st.binary(max_size=64))
def test_no_bytes_whatever_break_the_reader(body: bytes) -> None:
    with pytest.raises(Undecodable):
        logged(KEY, "c-1", 1, body)


def test_a_commit_of_a_newer_format_is_refused_not_guessed_at() -> None:
    commit = Commit(FORMAT + 1, KEY.run, 0, Instant(0), (), ())
    with pytest.raises(Undecodable):
        logged(KEY, "c-1", 1, encode_commit(commit))


def test_a_field_that_a_newer_minor_version_adds_is_ignored() -> None:
    body, _ = Append(KEY, "c-1", EMPTY, Instant(0), raw("e")).encode()
    extended = msgspec.msgpack.encode(msgspec.msgpack.decode(body) | {"added": 1})
    assert decode_commit(extended).events == decode_commit(body).events


@given(st.lists(EVENTS, max_size=6))
def test_a_chain_reads_back_whole_with_events_numbered_through(batches: list[tuple[msgspec.Raw, ...]]) -> None:
    commits = read(chain(batches))
    assert [entry.commit.events for entry in commits] == batches
    assert [entry.commit.first for entry in commits] == [sum(map(len, batches[:n])) for n in range(len(batches))]
    if commits:
        assert commits[-1].head.events == sum(map(len, batches))


@given(st.lists(EVENTS, min_size=1, max_size=6), st.data())
def test_a_chain_can_be_read_from_any_of_its_heads(batches: list[tuple[msgspec.Raw, ...]], data: st.DataObject) -> None:
    bodies = chain(batches)
    whole = read(bodies)
    start = data.draw(st.integers(0, len(bodies) - 1))
    assert read(bodies[start:], whole[start].head) == whole[start + 1 :]


@given(st.integers(0, 3))
def test_a_missing_commit_shows_at_the_one_after_it(missing: int) -> None:
    bodies = chain([raw(n) for n in range(5)])
    follower = bodies[missing + 1][0]
    del bodies[missing]
    with pytest.raises(LogBroken) as caught:
        read(bodies)
    assert caught.value.attributes["sequence"] == follower


@given(st.integers(0, 3), st.binary(min_size=1, max_size=1))
def test_a_changed_commit_shows_at_the_one_after_it(changed: int, value: bytes) -> None:
    bodies = chain([raw(b"was") for _ in range(5)])
    sequence, body = bodies[changed]
    commit = decode_commit(body)
    forged = msgspec.structs.replace(commit, events=raw(value))
    bodies[changed] = (sequence, encode_commit(forged))
    with pytest.raises(LogBroken) as caught:
        read(bodies)
    assert caught.value.attributes["sequence"] == bodies[changed + 1][0]


def test_a_cut_tail_does_not_show_in_the_chain_itself() -> None:
    assert len(read(chain([raw(1), raw(2), raw(3)])[:2])) == 2


def test_commits_in_the_wrong_order_are_broken() -> None:
    first, second = chain([raw(1), raw(2)])
    with pytest.raises(LogBroken):
        read([second, first])


def test_another_runs_commit_is_broken() -> None:
    with pytest.raises(LogBroken):
        read(chain([raw(1)], RunKey("acme", "r-2")))


@pytest.mark.parametrize("head", [Head(3, b"x" * 16, 1), Head(4, b"", 1)], ids=["another digest", "another place"])
def test_a_head_that_is_not_in_the_log_is_broken(head: Head) -> None:
    with pytest.raises(LogBroken):
        read(chain([raw(1), raw(2)]), head)


def test_run_keys_sort_by_tenant_then_run() -> None:
    keys = [RunKey("b", "1"), RunKey("a", "2"), RunKey("a", "1")]
    assert sorted(keys) == [RunKey("a", "1"), RunKey("a", "2"), RunKey("b", "1")]
