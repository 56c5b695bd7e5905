"""What a token can wait for, in data and in words."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from penstock.core.model.events import Fault
from penstock.core.model.time import MILLISECOND, SECOND, Instant


class Wait(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind"):
    """What a token waits for. `phrase` goes on after "token 1 on `a`"."""


class ForWorker(Wait, frozen=True, tag="task"):
    queue: str
    attempt: int
    attempts: int
    due: Instant | None = None

    def phrase(self, now: Instant) -> str:
        limit = f", given up {when(self.due, now)}" if self.due is not None else ""
        return f"waits for a worker of queue `{self.queue}`, attempt {self.attempt} of {self.attempts}{limit}"


class ForRetry(Wait, frozen=True, tag="retry"):
    attempt: int
    attempts: int
    due: Instant | None = None
    fault: Fault | None = None

    def phrase(self, now: Instant) -> str:
        return f"tries again {when(self.due, now)}, attempt {self.attempt} of {self.attempts}{after(self.fault)}"


class ForPredecessors(Wait, frozen=True, tag="join"):
    arrived: tuple[str, ...]
    missing: tuple[str, ...]

    def phrase(self, _: Instant) -> str:
        return f"has come from {names(self.arrived)} and waits for {names(self.missing)}"


class ForTime(Wait, frozen=True, tag="timer"):
    due: Instant | None = None

    def phrase(self, now: Instant) -> str:
        return f"waits and goes on {when(self.due, now)}"


class ForSignal(Wait, frozen=True, tag="signal"):
    name: str
    due: Instant | None = None

    def phrase(self, now: Instant) -> str:
        return f"waits for the signal `{self.name}`{until(self.due, now)}"


class ForDecision(Wait, frozen=True, tag="approval"):
    approval: str
    approvers: tuple[str, ...] = ()
    due: Instant | None = None

    def phrase(self, now: Instant) -> str:
        people = ", ".join(self.approvers) or "anybody"
        return f"waits for {people} to decide approval {self.approval}{until(self.due, now)}"


class ForChild(Wait, frozen=True, tag="child"):
    run: str
    workflow: str

    def phrase(self, _: Instant) -> str:
        return f"waits for its child {self.run}, a run of `{self.workflow}`"


class ForRescue(Wait, frozen=True, tag="parked"):
    fault: Fault | None = None

    def phrase(self, _: Instant) -> str:
        return f"is parked until `penstock dlq` retries or drops it{after(self.fault)}"


class ForTurn(Wait, frozen=True, tag="turn"):
    place: str
    """The node whose `parallelism`, or the group whose `max_parallel`, holds it."""
    limit: int
    position: int

    def phrase(self, _: Instant) -> str:
        return f"waits for its turn as number {self.position}: at most {self.limit} at a time in `{self.place}`"


class ForResume(Wait, frozen=True, tag="resume"):
    def phrase(self, _: Instant) -> str:
        return "goes on when the run is resumed"


class ForNext(Wait, frozen=True, tag="next"):
    """A long decision stopped here, and goes on by a command that is on its way."""

    def phrase(self, _: Instant) -> str:
        return "goes on at once"


class ForConditions(Wait, frozen=True, tag="conditions"):
    programs: int

    def phrase(self, _: Instant) -> str:
        return f"waits for user code in {self.programs} of its transitions' conditions"


AnyWait: TypeAlias = (
    ForWorker
    | ForRetry
    | ForPredecessors
    | ForTime
    | ForSignal
    | ForDecision
    | ForChild
    | ForRescue
    | ForTurn
    | ForResume
    | ForNext
    | ForConditions
)


# -- words


def names(nodes: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in nodes) or "nobody"


def after(fault: Fault | None) -> str:
    if fault is None:
        return ""
    where = f" on `{fault.node}`" if fault.node else ""
    return f", after {fault.code}{where}: {fault.message}"


def when(due: Instant | None, now: Instant) -> str:
    return f"in {span(due - now)}" if due is not None and due > now else "now"


def until(due: Instant | None, now: Instant) -> str:
    return "" if due is None else f" for another {span(max(due - now, 0))} at most"


def span(microseconds: int) -> str:
    """The two largest units: a glance is enough."""
    seconds, rest = divmod(microseconds, SECOND)
    if seconds < 1:
        return f"{rest // MILLISECOND} ms"
    units = (("d", seconds // 86_400), ("h", seconds // 3600 % 24), ("min", seconds // 60 % 60), ("s", seconds % 60))
    first = next(index for index, (_, count) in enumerate(units) if count)
    return " ".join(f"{count} {unit}" for unit, count in units[first : first + 2] if count)
