"""What goes wrong, or comes twice, late or early: the steps that nobody needs."""

from __future__ import annotations

from typing import Final

from penstock.core.model import commands as c
from penstock.core.model import effects as f
from penstock.core.model.time import SECOND, Instant
from penstock.core.turn import inputs as i
from penstock.core.turn import outputs as o
from penstock.testkit.simulate.log import KEY
from penstock.testkit.simulate.world import UNAVAILABLE, Asked, Owner, World, due_of, nth

_HARMLESS: Final = frozenset({"retry", "wait", "cancel_grace", "undo_retry"})
"""Purposes of timers that are part of the way, not limits."""


# -- the servers


def fail(world: World, which: int) -> bool:
    """What was asked for cannot be done now."""
    request = _take(world.owner, which)
    if request is None:
        return False
    world.answer(world.owner, [i.Failed(request.ticket, UNAVAILABLE)])
    return True


def lose(world: World, which: int) -> bool:
    """It is done, or half of it; the answer is lost."""
    owner = world.owner
    request = _take(owner, which)
    if request is None:
        return False
    _half(world, owner, request, which)
    world.answer(owner, [i.Failed(request.ticket, UNAVAILABLE)])
    return True


def repeat(world: World, which: int) -> bool:
    """An answer comes again."""
    alive = [answer for answer in world.answers if answer[0] is world.owner or answer[0] in world.formers]
    if not alive:
        return False
    owner, given = alive[which % len(alive)]
    world.feed(owner, [given])
    return True


def behind(world: World, which: int) -> bool:
    """The run is read from a replica that lacks the last commits."""
    owner = world.owner
    loads = [request for request in owner.pending if isinstance(request, o.LoadRun)]
    if not loads or not world.log.entries:
        return False
    owner.pending.remove(loads[0])
    world.answer(owner, world.load(owner, loads[0], missing=1 + which % len(world.log.entries)))
    return True


def redeliver(world: World, which: int) -> bool:
    """A command is not acknowledged in time."""
    if not world.queue:
        return False
    world.waiting.append(nth(world.queue, which % len(world.queue)))
    return True


def resend(world: World, which: int) -> bool:
    """Somebody sends again what was sent before: under the same name, or as something new."""
    if not which % 8:
        world.post("start" if which & 8 else world.fresh("start"), world.start())
        return True
    sent = world.outside.sent
    if not sent:
        return False
    name, command = sent[which // 2 % len(sent)]
    world.post(world.fresh(name) if which & 1 else name, command)
    return True


def unsave(world: World, which: int) -> bool:
    """The last snapshot is lost, or all of them."""
    if not world.snapshots:
        return False
    del world.snapshots[which % len(world.snapshots) :]
    return True


def restart(world: World, _: int) -> bool:
    """The message server forgets tasks and timers, which follow from the log; so every open run is healed."""
    tasks = [name for name, effect in world.outside.open.items() if isinstance(effect, f.DispatchTask)]
    for name in tasks:
        del world.outside.open[name]
    world.promoted.clear()
    world.mark = 0  # until that is done, whoever has the shard has to do it
    if world.log.entries:
        world.feed(world.owner, [i.Heal(KEY)])
    return True


# -- the owners


def crash(world: World, which: int) -> bool:
    """The owner is gone. Some of what it had asked for is done all the same, and nobody hears of it."""
    owner = world.owner
    for number, request in enumerate(owner.pending):
        if which >> number & 1:
            _half(world, owner, request, which)
    world.take_over()
    return True


def depose(world: World, _: int) -> bool:
    """The owner is replaced, and does not know."""
    world.formers.append(world.owner)
    world.take_over()
    return True


def linger(world: World, which: int) -> bool:
    """A former owner goes on."""
    if not world.formers:
        return False
    former = world.formers[which % len(world.formers)]
    which //= len(world.formers)
    due = due_of(former.armed, world.now)
    total = len(former.pending) + len(due)
    if not total:
        world.formers.remove(former)
        return True
    which %= total
    if which < len(former.pending):
        request = former.pending.pop(which)
        world.answer(former, world.perform(former, request))
    else:
        world.fire(former, due[which - len(former.pending)])
    return True


def doubt(world: World, _: int) -> bool:
    """The owner's sign of life fails: it gives the shard up, and the next one takes it."""
    world.feed(world.owner, [i.Doubtful()])
    return True


# -- timers


def sleep(world: World, which: int) -> bool:
    """Time passes while others wait: up to three seconds, in twelfths of a lease."""
    world.pass_time(Instant(world.now + (which % 12 + 1) * SECOND // 4))
    return True


def promote(world: World, which: int) -> bool:
    armed = world.owner.armed
    if not armed:
        return False
    timer = nth(armed, which % len(armed))
    world.promoted[timer] = armed.pop(timer)
    world.feed(world.owner, [i.TimerSettled(KEY, timer)])
    return True


def early(world: World, which: int) -> bool:
    """A timer fires before its time, as far as the owner's clock can tell. Never one that would change the outcome."""
    armed = [timer for timer in world.owner.armed if _HARMLESS.intersection(timer.split("."))]
    promoted = [timer for timer in world.promoted if _HARMLESS.intersection(timer.split("."))]
    if not armed and not promoted:
        return False
    which %= len(armed) + len(promoted)
    if which < len(armed):
        world.fire(world.owner, armed[which])
    else:
        world.fire_promoted(promoted[which - len(armed)])
    return True


def refire(world: World, which: int) -> bool:
    """A timer that fired before fires again."""
    if not world.fired:
        return False
    timer = nth(world.fired, which % len(world.fired))
    world.post(timer, c.FireTimer(timer), world.fired[timer])
    return True


# -- workers and people


def redo(world: World, which: int) -> bool:
    """A worker answers, and dies before it says that it is done: another one does it again."""
    work = world.outside.open
    if not work:
        return False
    world.post(*world.outside.answer(nth(work, which % len(work)), stays=True))
    return True


def obey(world: World, which: int) -> bool:
    """Who was told to stop does so, or never took it up."""
    outside = world.outside
    told = sorted(outside.told & outside.open.keys())
    if not told:
        return False
    name = told[which // 2 % len(told)]
    if which & 1:
        del outside.open[name]
        outside.told.discard(name)
    else:
        world.post(*outside.obey(name))
    return True


def begin(world: World, which: int) -> bool:
    """A worker says that it has begun."""
    tasks = [task for task in world.outside.open.values() if isinstance(task, f.DispatchTask)]
    if not tasks:
        return False
    task = tasks[which % len(tasks)]
    world.post(world.fresh("begun"), c.TaskBegun(task.token, task.attempt, task.nonce))
    return True


def signal(world: World, which: int) -> bool:
    """A signal comes before anybody waits for it."""
    signals = world.case.signals
    if not signals:
        return False
    name = world.fresh("signal")
    world.post(name, c.SendSignal(name, signals[which % len(signals)]))
    return True


def pause(world: World, which: int) -> bool:
    """The run is paused or resumed."""
    world.post(world.fresh("pause"), c.Resume() if which % 3 == 0 else c.Pause())
    return True


def cancel(world: World, which: int) -> bool:
    """Somebody cancels it: then it ends as predicted, or as cancelled."""
    world.cancelled = True
    world.post(world.fresh("cancel"), c.Cancel(force=which % 4 == 0))
    return True


# -- how


def _take(owner: Owner, which: int) -> Asked | None:
    """A request that may fail: a scan is tried until it succeeds."""
    pending = [request for request in owner.pending if not isinstance(request, o.Scan)]
    if not pending:
        return None
    request = pending[which % len(pending)]
    owner.pending.remove(request)
    return request


def _half(world: World, owner: Owner, request: Asked, which: int) -> None:
    if isinstance(request, o.PublishEffects):
        if world.now <= request.before:
            world.publish(owner, request.effects[: which % (len(request.effects) + 1)])
    else:
        world.perform(owner, request)
