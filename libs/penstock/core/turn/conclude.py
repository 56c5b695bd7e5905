"""How a turn ends for each command in it: acknowledged, handed back or buried, and answered."""

from __future__ import annotations

import contextlib

from penstock.core.errors import PenstockError
from penstock.core.model.decider import NO_FACTS
from penstock.core.model.time import SECOND
from penstock.core.turn import outputs as o
from penstock.core.turn.desk import Desk
from penstock.core.turn.errors import RunUnreadable, fault_of
from penstock.core.turn.history import save
from penstock.core.turn.run import Entry, Fold, Run

HEAL = "heal"
_PATIENCE = 30
"""Seconds at most until a command that nobody can deal with yet is delivered again."""


def finish(desk: Desk, run: Run, turn: Fold) -> None:
    for entry in turn.entries:
        _conclude(desk, run, entry, turn)
    desk.release(run)
    run.owed, run.dirty, run.fold, run.facts = None, False, None, NO_FACTS
    run.move("resting")
    # Not before the effects are out: a state that came from a snapshot owes nothing.
    if run.head.events - run.saved >= desk.limits.snapshot_every:
        run.saved = run.head.events
        with contextlib.suppress(Exception):  # a state that cannot be written is still in the log
            desk.out.append(o.SaveSnapshot(run.key, run.head, save(run)))


def postpone(desk: Desk, run: Run) -> None:
    """Somebody else may know what to do with it, later. What it holds the mark for, it goes on holding."""
    for entry in run.hand.values():
        _hand_back(desk, entry)
    run.hand.clear()


def bury(desk: Desk, run: Run, error: RunUnreadable) -> None:
    desk.out.append(o.RaiseIncident(run.key, fault_of(error)))
    for entry in tuple(run.hand.values()):
        _bury(desk, run, entry, error)
        _let_go(desk, run, entry)
    desk.release(run)


def _conclude(desk: Desk, run: Run, entry: Entry, turn: Fold) -> None:
    error = entry.error
    if error is None or entry.verdict in {"decided", "known"}:
        _acknowledge(desk, entry)
        if entry.reply and turn.summary is not None:
            desk.out.append(o.Accepted(entry.reply, entry.id, run.key, run.head.sequence, turn.summary))
    elif entry.verdict == "refused":
        _acknowledge(desk, entry)
        _refuse(desk, run, entry, error)
    elif entry.verdict == "missing" and entry.deliveries < desk.limits.tries:
        _hand_back(desk, entry)
    else:
        if entry.verdict == "broken":
            desk.out.append(o.RaiseIncident(run.key, fault_of(error)))
        _bury(desk, run, entry, error)
    _let_go(desk, run, entry)


def _bury(desk: Desk, run: Run, entry: Entry, error: PenstockError) -> None:
    for delivery in entry.held:
        desk.out.append(o.Bury(delivery, run.key, entry.id, fault_of(error)))
    _refuse(desk, run, entry, error)


def _refuse(desk: Desk, run: Run, entry: Entry, error: PenstockError) -> None:
    """After the acknowledgement: whoever is told that it changed nothing can rely on it."""
    if entry.reply:
        refusal = o.Refused(
            entry.reply, entry.id, run.key, error.code, error.message, error.attributes, error.retryable
        )
        desk.out.append(refusal)


def _acknowledge(desk: Desk, entry: Entry) -> None:
    for delivery in entry.held:
        desk.out.append(o.Ack(delivery))


def _hand_back(desk: Desk, entry: Entry) -> None:
    for delivery in entry.held:
        desk.out.append(o.Nak(delivery, min(entry.deliveries, _PATIENCE) * SECOND))


def _let_go(desk: Desk, run: Run, entry: Entry) -> None:
    del run.hand[entry.id]
    if entry.timer:
        desk.mark.settle(run.key, entry.timer, taken=True)
    elif entry.kind == HEAL:
        desk.mark.release(desk.mark.start)
