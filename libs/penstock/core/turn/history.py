"""A run out of its log, and into a snapshot."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

import msgspec

from penstock.core.model.time import Instant
from penstock.core.model.upcast import decode_events
from penstock.core.turn.errors import KindUnknown
from penstock.core.turn.inputs import Loaded, SavedState
from penstock.core.turn.run import Kind, Run


class _Saved(msgspec.Struct, frozen=True, array_like=True):
    """What a snapshot holds besides the state is what the log before it would have told."""

    kind: str
    at: Instant
    seen: dict[str, Instant]
    state: msgspec.Raw


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Saved)


def save(run: Run) -> bytes:
    state = msgspec.Raw(_encoder.encode(run.state))
    return _encoder.encode(_Saved(run.kind_name, run.at, dict(run.seen), state))


def rebuild(run: Run, loaded: Loaded, kinds: Mapping[str, Kind], now: Instant) -> str:
    """Fold the log into `run`; the id of its last commit, as far as that is known."""
    run.forget()
    if loaded.snapshot is not None:
        _restore(run, loaded.snapshot, kinds)
    elif loaded.commits:
        _begin(run, loaded.commits[0].commit.causes[0].kind, kinds)
    if run.kind is None:
        return ""
    evolve = run.kind.decider.evolve
    last = ""
    for logged in loaded.commits:
        commit = logged.commit
        run.owed = decode_events(commit.events)
        for event in run.owed:
            evolve(run.state, event, commit.at)
        # Who was in the log when we came may come again as long as we remember, however old the commit is.
        run.seen.update((cause.id, now) for cause in commit.causes)
        run.head, run.at, last = logged.head, commit.at, logged.id
    return last


def _begin(run: Run, kind: str, kinds: Mapping[str, Kind]) -> None:
    found = kinds.get(kind)
    if found is None:
        raise KindUnknown(kind=kind)
    run.kind, run.kind_name, run.state = found, kind, found.decider.initial()


def _restore(run: Run, snapshot: SavedState, kinds: Mapping[str, Kind]) -> None:
    saved = _decoder.decode(snapshot.state)
    _begin(run, saved.kind, kinds)
    run.state = msgspec.msgpack.decode(saved.state, type=type(run.state))
    run.head, run.at, run.saved = snapshot.head, saved.at, snapshot.head.events
    run.seen = OrderedDict(saved.seen)
