"""Decides what a run has in hand: as much as fits into one commit.

A turn is decided at one time, that of its commit, so that every command in it can be decided again from the log.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.graph.errors import DomainError
from penstock.core.model.decider import Missing, Need
from penstock.core.model.events import IncidentRaised
from penstock.core.model.time import Instant
from penstock.core.model.upcast import encode_event
from penstock.core.turn.causes import cause_of, incident_cause
from penstock.core.turn.errors import DecisionFailed, RunUnknown, TurnError, fault_of
from penstock.core.turn.run import Entry, Fold, Kind, Run


def fold(run: Run, kinds: Mapping[str, Kind], now: Instant, limit: int) -> Fold:
    """`run.state` has what was decided applied; after `broken` or `need` it is half-changed."""
    # A clock that is behind the log's, or the server's, loses nothing (rule 7).
    turn = Fold(Instant(max(now, run.at, run.horizon)))
    if run.owed is not None:
        # What the last commit asked for goes out before anything new is decided.
        turn.entries += [entry for entry in run.hand.values() if _is_known(run, entry)]
        return turn
    for entry in run.hand.values():
        turn.entries.append(entry)
        _take(run, entry, turn, kinds)
        if turn.broken or turn.need is not None or turn.size >= limit or run.alone:
            break
    if turn.events and not turn.broken and turn.need is None:
        _summarize(run, turn)
    return turn


def _take(run: Run, entry: Entry, turn: Fold, kinds: Mapping[str, Kind]) -> None:
    if entry.verdict == "broken":
        _tell(run, entry, turn)
    elif _is_known(run, entry):
        turn.repeats = True
    elif run.kind is not None or _begin(run, entry, kinds):
        _decide(run, entry, turn)
    else:
        entry.verdict, entry.error = "missing", RunUnknown(run=run.key.run)


def _is_known(run: Run, entry: Entry) -> bool:
    """Nothing is to be decided: it is in the log, or only asks what the run waits for."""
    known = entry.verdict != "broken" and (entry.command is None or entry.id in run.seen)
    if known:
        entry.verdict = "known"
    return known


def _begin(run: Run, entry: Entry, kinds: Mapping[str, Kind]) -> bool:
    """Runs are told apart by the kind of command that starts them."""
    kind = kinds.get(entry.kind)
    if kind is not None:
        run.kind, run.kind_name, run.state = kind, entry.kind, kind.decider.initial()
    return kind is not None


def _decide(run: Run, entry: Entry, turn: Fold) -> None:
    if run.kind is None or entry.command is None:
        return
    try:
        found = run.kind.decider.decide(run.state, entry.command, turn.at, entry.facts)
        if isinstance(found, Need):
            turn.need = found
            return
        raws = [encode_event(event) for event in found]
        cause = cause_of(entry.id, entry.command, entry.facts, found)
    except DomainError as refusal:
        entry.verdict, entry.error = "refused", refusal
    except Exception as error:  # noqa: BLE001 - whatever a decider raises, the shard goes on
        give_up(entry, DecisionFailed(kind=entry.kind, id=entry.id, reason=name_of(error)))
        turn.broken = True
        return
    else:
        entry.verdict, entry.error = "decided", None
        turn.events += found
        turn.raws += raws
        turn.causes.append(cause)
        turn.size += sum(map(len, raws)) + len(cause.data)
        turn.repeats |= not found and entry.deliveries > 1
    if not run.head.sequence and not turn.events:
        run.kind = None  # refused, so there still is no run


def _tell(run: Run, entry: Entry, turn: Fold) -> None:
    """The run gets an incident for a command that was given up, once, however often that comes."""
    name = f"incident:{entry.id}"
    if run.kind is None or entry.told or entry.error is None or name in run.seen:
        return
    event = IncidentRaised(fault_of(entry.error))
    try:
        run.kind.decider.evolve(run.state, event, turn.at)
    except Exception:  # noqa: BLE001 - as above
        entry.told = turn.broken = True
        return
    raw = encode_event(event)
    turn.events.append(event)
    turn.raws.append(raw)
    turn.causes.append(incident_cause(name))
    turn.size += len(raw)


def _summarize(run: Run, turn: Fold) -> None:
    if run.kind is None:
        return
    try:
        turn.summary = run.kind.summary(run.state, run.facts)
    except Missing as missing:
        turn.need, turn.lacks = missing.need, True
    except Exception as error:  # noqa: BLE001 - as above
        last = turn.entries[-1]
        give_up(last, DecisionFailed(kind=last.kind, id=last.id, reason=name_of(error)))
        turn.broken = True


def give_up(entry: Entry, error: TurnError) -> None:
    """Given up once more, it is because the run could not even be told."""
    if entry.verdict == "broken":
        entry.told = True
    else:
        entry.verdict, entry.error = "broken", error


def name_of(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
