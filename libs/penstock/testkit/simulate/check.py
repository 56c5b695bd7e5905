"""What must be true when a run has come to its end, whatever happened on the way."""

from __future__ import annotations

from collections import Counter

import msgspec

from penstock.core.graph.state import State
from penstock.core.model.commit import EMPTY
from penstock.core.model.decider import Facts
from penstock.core.model.effects import Effect
from penstock.core.model.events import Event
from penstock.core.turn.causes import recall
from penstock.testkit.reference import Ending, execution_key
from penstock.testkit.reference.prediction import Key
from penstock.testkit.simulate.problem import Problem
from penstock.testkit.simulate.world import LIMITS, World

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(State).decode


def check(world: World) -> None:
    _check_ended(world)
    _check_owner(world)
    world.log.after(EMPTY)
    _check_effects(world)
    _check_causes(world)
    _check_prediction(world)


def _check_ended(world: World) -> None:
    state = world.log.record.state
    if not world.closed:
        waits = [f"token {t.id} on {t.node} is {t.status}" for t in state.tokens.values()]
        raise Problem("stuck", f"the run is {state.status}", *waits)
    if world.queue or world.owner.shard.busy or world.owner.pending:
        raise Problem("unfinished", f"{len(world.queue)} commands are not acknowledged, {world.owner.pending}")


def _check_owner(world: World) -> None:
    """What the owner has in memory, and a snapshot of it, is what the log says."""
    live, state = world.owner.decider.live, world.log.record.state
    if _decode(_encode(state)) != state:
        raise Problem("snapshot", "the state is not what its bytes say")
    for snapshot in world.snapshots:
        world.log.after(snapshot.head)
    if live is not None and live != state:
        raise Problem("memory", "what the owner has in memory is not what the log says")


def _check_effects(world: World) -> None:
    """Each of every commit was published, and what the run waits for now. The same log need not be decided twice."""
    verified, digest = world.case.verified, world.log.head.digest
    if digest not in verified:
        verified[digest] = _decided_again(world)
    lost = verified[digest].keys() - world.published
    if lost:
        raise Problem("effect lost", *(str(verified[digest][name]) for name in lost))


def _decided_again(world: World) -> dict[bytes, Effect]:
    """Every commit, from its causes, gives the same events; the effects that follow."""
    decider, definitions = world.case.decider(), {world.case.hash: world.case.definition}
    state, facts = decider.initial(), Facts(definitions)
    effects: list[Effect] = []
    for entry in world.log.entries:
        commit, events = entry.commit, list[Event]()
        for cause in recall(commit):
            if cause.command is None:
                raise Problem("incident", *map(str, cause.events))
            asked = Facts(definitions, cause.facts.blobs, cause.facts.memos)
            found = decider.decide(state, cause.command, commit.at, asked)
            if found != cause.events:
                raise Problem("decided again", f"{cause.command}", f"was {cause.events}", f"now {found}")
            events += found
        effects += decider.effects(state, events, facts)
    if state != world.log.record.state:
        raise Problem("decided again", "the state is another")
    effects += decider.outstanding(state, facts)
    return {_encode(effect): effect for effect in effects}


def _check_causes(world: World) -> None:
    """Within the time that it is remembered, no command is committed twice."""
    seen: dict[str, int] = {}
    for entry, at in zip(world.log.entries, world.log.times, strict=True):
        for cause in entry.commit.causes:
            before = seen.get(cause.id)
            if before is not None and at - before < LIMITS.remember:
                raise Problem("twice", f"{cause.kind} {cause.id} is committed twice")
            seen[cause.id] = at


def _check_prediction(world: World) -> None:
    observed = world.log.record.observed()
    if world.cancelled and observed.outcome == "cancelled":
        return
    if differences := world.case.prediction.differences(observed):
        raise Problem("prediction", *differences)
    if world.case.prediction.exact and observed.outcome == "failed":
        _check_undone(world, world.case.prediction.ending)


def _check_undone(world: World, ending: Ending) -> None:
    """What surely completed was undone once, and nothing was that cannot have completed."""
    undone = world.log.record.undone
    certain, possible = Counter[Key](), Counter[Key]()
    for done in ending.compensations:
        key = execution_key(done.node, done.path, done.input)
        possible[key] += 1
        certain[key] += done.certain
    if missing := certain - undone:
        raise Problem("not undone", str(missing))
    if more := undone - possible:
        raise Problem("undone", str(more))
