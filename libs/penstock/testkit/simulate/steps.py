"""What may happen next: each step takes a number, and picks by it among what there is. False: there was nothing.

Steps are named, so that a schedule can be read, and a step that is taken out of it leaves the others as they were.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from penstock.core.model import commands as c
from penstock.testkit.simulate import faults
from penstock.testkit.simulate.world import World, due_of, nth

Move: TypeAlias = Callable[[World, int], bool]


def go(world: World, which: int) -> bool:
    """Something that has to happen anyway; of all such things, the next one."""
    owner = world.owner
    due = due_of(owner.armed, world.now)
    served = due_of(world.promoted, world.now)
    ways = len(owner.pending), bool(world.waiting), len(world.outside.open), len(due), len(served)
    total = sum(ways)
    if not total:
        return _idle(world)
    which %= total
    if which < ways[0]:
        request = owner.pending.pop(which)
        world.answer(owner, world.perform(owner, request))
        return True
    which -= ways[0]
    if which < ways[1]:
        world.deliver(1)
        return True
    which -= ways[1]
    if which < ways[2]:
        world.post(*world.outside.answer(nth(world.outside.open, which)))
        return True
    which -= ways[2]
    if which < ways[3]:
        world.fire(owner, due[which])
    else:
        world.fire_promoted(served[which - ways[3]])
    return True


def _idle(world: World) -> bool:
    """Nobody has anything to do: time passes, or somebody from outside has to come."""
    state, moment = world.log.record.state, world.next_moment()
    busy = world.delayed or world.owner.shard.busy
    if world.closed and not busy:
        return False
    awaited = next((token.handle for token in state.tokens.values() if token.status == "waiting" and token.handle), "")
    if state.paused and not busy:
        world.post(world.fresh("resume"), c.Resume())
    elif awaited and not busy:
        name = world.fresh("signal")
        world.post(name, c.SendSignal(name, awaited))
    elif moment is not None:
        world.pass_time(max(world.now, moment))
    else:
        return False
    return True


def gather(world: World, which: int) -> bool:
    """Several commands come together."""
    if not world.waiting:
        return False
    world.deliver(which + 1)
    return True


MOVES: Final[dict[str, Move]] = {
    move.__name__: move
    for move in (
        go,
        gather,
        faults.fail,
        faults.lose,
        faults.repeat,
        faults.behind,
        faults.redeliver,
        faults.resend,
        faults.unsave,
        faults.restart,
        faults.crash,
        faults.depose,
        faults.linger,
        faults.doubt,
        faults.sleep,
        faults.promote,
        faults.early,
        faults.refire,
        faults.redo,
        faults.obey,
        faults.begin,
        faults.signal,
        faults.pause,
        faults.cancel,
    )
}
