"""A run's way through its cycle: what is asked for in each phase, and what each answer leads to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from penstock.core.graph.errors import IllegalTransition
from penstock.core.model.decider import NO_FACTS, Facts, Missing, Need
from penstock.core.model.effects import ArmTimer, Effect
from penstock.core.model.events import Fault
from penstock.core.model.time import Instant
from penstock.core.model.upcast import EventUnknown
from penstock.core.turn import outputs as o
from penstock.core.turn.conclude import bury, finish, postpone
from penstock.core.turn.desk import Desk
from penstock.core.turn.errors import (
    CommitRefused,
    DecisionFailed,
    EffectRefused,
    FactsMissing,
    KindUnknown,
    RunUnreadable,
    TurnError,
    fault_of,
)
from penstock.core.turn.fold import fold, give_up, name_of
from penstock.core.turn.history import rebuild
from penstock.core.turn.inputs import Answer, Appended, Conflicted, Failed, Fetched, LastRead, Loaded, Published
from penstock.core.turn.run import Entry, Fold, Phase, Run

_encode = msgspec.msgpack.Encoder().encode


def answer(desk: Desk, given: Answer) -> Run | None:
    """The run that moved on, if any waits for this."""
    run = desk.answered(given.ticket)
    if run is not None:
        handle = _ANSWERS[run.phase].get(type(given))
        if handle is None:
            raise IllegalTransition(what=f"run {run.key.run}", now=run.phase, asked=type(given).__name__)
        handle(desk, run, given)
    return run


# -- cold, loading


def load(desk: Desk, run: Run) -> None:
    first = next(iter(run.hand.values()))
    if run.fresh and first.kind in desk.kinds and first.deliveries == 1:
        run.move("resting")  # it is about to be started; if it is there already, its log will say so
    else:
        desk.out.append(o.LoadRun(desk.ask(run, "loading"), run.key, run.whole))
    run.fresh = False


def _loaded(desk: Desk, run: Run, given: Loaded) -> None:
    try:
        last = rebuild(run, given, desk.kinds, desk.now)
    except (EventUnknown, KindUnknown):
        run.move("cold")
        postpone(desk, run)
        return
    except Exception as error:  # noqa: BLE001 - a decider that cannot read its own log
        run.move("cold")
        run.whole = given.snapshot is not None
        if not run.whole:
            bury(desk, run, RunUnreadable(run=run.key.run, reason=name_of(error)))
        return
    behind, run.floor, run.whole = run.head.sequence < run.floor, 0, False
    if behind:
        desk.pause(run)
        return
    # Another's last commit lacks its effects if it was made after the mark, or if one of its commands comes again.
    recent = run.head.sequence >= desk.mark.start or any(name in run.seen for name in run.hand)
    owes = run.dirty or (recent and not last.startswith(desk.own))
    run.owed = (run.owed or []) if owes and run.head.sequence else None
    if run.owed is not None and (run.held is None or run.held > run.head.sequence):
        desk.hold(run, run.head.sequence)  # the mark must not pass a commit of another's before its timers are armed
    desk.mark.see(run.head.sequence)
    run.move("resting")


def _not_loaded(desk: Desk, run: Run, given: Failed) -> None:
    if given.fault.retryable:
        desk.pause(run)
    else:
        run.move("cold")
        bury(desk, run, RunUnreadable(run=run.key.run, reason=given.fault.message))


# -- resting, fetching


def advance(desk: Desk, run: Run) -> None:
    turn = run.fold = fold(run, desk.kinds, desk.now, desk.limits.fold)
    if turn.need is not None:
        _fetch(desk, run, None if turn.lacks else turn.entries[-1], turn.need)
    elif turn.broken:
        _drop(run)
    elif turn.events:
        _append(desk, run, turn)
    else:
        desk.out.append(o.ConfirmLast(desk.ask(run, "confirming"), run.key))


def _fetch(desk: Desk, run: Run, entry: Entry | None, need: Need) -> None:
    run.forget()
    run.wants = entry
    ticket = desk.ask(run, "fetching")
    if _covers((entry or run).facts, need):
        answer(desk, Failed(ticket, Fault("NEED", "it was given, and is asked for again")))
    else:
        desk.out.append(o.FetchFacts(ticket, run.key, need))


def _fetched(_: Desk, run: Run, given: Fetched) -> None:
    owner = run.wants or run
    had, got = owner.facts, given.facts
    owner.facts = Facts({**had.definitions, **got.definitions}, {**had.blobs, **got.blobs}, {**had.memos, **got.memos})
    run.move("cold")


def _not_fetched(desk: Desk, run: Run, given: Failed) -> None:
    entry = run.wants
    if given.fault.retryable:
        desk.pause(run)
    elif entry is not None:
        give_up(entry, FactsMissing(kind=entry.kind, id=entry.id, reason=given.fault.message))
        run.move("cold")
    else:
        _strand(desk, run, FactsMissing(kind="effects of run", id=run.key.run, reason=given.fault.message))


def _covers(facts: Facts, need: Need) -> bool:
    return (
        need.definitions <= facts.definitions.keys()
        and need.blobs <= facts.blobs.keys()
        and need.memos <= facts.memos.keys()
    )


# -- confirming, appending


def _confirmed(desk: Desk, run: Run, given: LastRead) -> None:
    if given.sequence == run.head.sequence:
        _publish(desk, run, _turn(run), given.at)
    else:
        run.floor = given.sequence
        _drop(run)


def _not_confirmed(desk: Desk, run: Run, _: Failed) -> None:
    desk.pause(run)


def _append(desk: Desk, run: Run, turn: Fold) -> None:
    ticket = desk.ask(run, "appending")
    turn.commit = desk.commit_id(ticket)
    if run.held is None:
        desk.hold(run, desk.mark.next)
    events, causes, summary = tuple(turn.raws), tuple(turn.causes), turn.summary or o.Summary(0)
    desk.out.append(
        o.AppendCommit(ticket, run.key, turn.commit, run.head, turn.at, events, causes, summary.open, summary.due)
    )


def _appended(desk: Desk, run: Run, given: Appended) -> None:
    turn = _turn(run)
    desk.mark.see(given.head.sequence)
    desk.hold(run, given.head.sequence)
    run.head, run.at, run.alone = given.head, turn.at, False
    run.remember(turn.causes, desk.now, desk.limits.remember)
    _publish(desk, run, turn, given.at)


def _conflicted(desk: Desk, run: Run, given: Conflicted) -> None:
    last = given.tail[-1] if given.tail else None
    if last is not None and last.id == _turn(run).commit:
        _appended(desk, run, Appended(given.ticket, last.head, given.at))
    else:
        run.floor = last.head.sequence if last is not None else 0
        run.dirty = True  # ours may be in it all the same
        _drop(run)


def _not_appended(desk: Desk, run: Run, given: Failed) -> None:
    entries = _turn(run).entries
    if given.fault.retryable:
        desk.pause(run)
        return
    if len(entries) > 1:
        run.alone = True
    else:
        entry = entries[0]
        give_up(entry, CommitRefused(kind=entry.kind, id=entry.id, reason=given.fault.message))
    _drop(run)


def _drop(run: Run) -> None:
    """State is mutated in place: after a conflict or an exception it is not to be trusted (rule 2)."""
    run.forget()
    run.move("cold")


# -- publishing


def _publish(desk: Desk, run: Run, turn: Fold, since: Instant) -> None:
    before = Instant(since + desk.limits.lease // 2)
    if desk.now > before:
        desk.doubtful = True
        return
    try:
        found = _effects(run, turn)
        if turn.summary is None and run.kind is not None and any(entry.reply for entry in turn.entries):
            turn.summary = run.kind.summary(run.state, run.facts)
    except Missing as missing:
        run.dirty = True
        _fetch(desk, run, None, missing.need)
        return
    except Exception as error:  # noqa: BLE001 - whatever a decider raises, the shard goes on
        _strand(desk, run, DecisionFailed(kind="effects of run", id=run.key.run, reason=name_of(error)))
        return
    if not found:
        finish(desk, run, turn)
        return
    for effect in found:
        if type(effect) is ArmTimer:
            desk.mark.arm(run.key, effect.timer, run.head.sequence)
    desk.out.append(o.PublishEffects(desk.ask(run, "publishing"), run.key, tuple(found), before))


def _effects(run: Run, turn: Fold) -> list[Effect]:
    """Of the current state only (rule 5): the last commit's, and on any doubt all that the run waits for."""
    if run.kind is None:
        return []
    decider, state = run.kind.decider, run.state
    events = turn.events if run.owed is None else run.owed
    found = decider.effects(state, events, run.facts) if events else []
    if not turn.repeats and run.owed is None:
        return found
    waiting = decider.outstanding(state, run.facts)
    listed = {_encode(effect) for effect in waiting}
    return [effect for effect in found if _encode(effect) not in listed] + waiting


def _strand(desk: Desk, run: Run, error: TurnError) -> None:
    """Its commands may be in the log already: they are not given up, but tried until somebody has mended it."""
    run.facts = NO_FACTS
    desk.out.append(o.RaiseIncident(run.key, fault_of(error)))
    desk.pause(run)


def _published(desk: Desk, run: Run, _: Published) -> None:
    finish(desk, run, _turn(run))


def _not_published(desk: Desk, run: Run, given: Failed) -> None:
    if given.fault.retryable:
        desk.pause(run)
        return
    finish(desk, run, _turn(run))
    name = f"effects:{run.head.sequence}"
    run.hand[name] = Entry(name, "effects", error=EffectRefused(reason=given.fault.message), verdict="broken")


_ANSWERS: dict[Phase, dict[type[Any], Callable[[Desk, Run, Any], None]]] = {
    "cold": {},
    "resting": {},
    "pausing": {},
    "loading": {Loaded: _loaded, Failed: _not_loaded},
    "fetching": {Fetched: _fetched, Failed: _not_fetched},
    "confirming": {LastRead: _confirmed, Failed: _not_confirmed},
    "appending": {Appended: _appended, Conflicted: _conflicted, Failed: _not_appended},
    "publishing": {Published: _published, Failed: _not_published},
}


def _turn(run: Run) -> Fold:
    if run.fold is None:
        raise IllegalTransition(what=f"run {run.key.run}", now=run.phase, asked="an answer")
    return run.fold
