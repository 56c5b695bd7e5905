"""Definitions that several rule tests share, and questions they ask of a run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from types import FrameType
from typing import Any

from penstock.core.graph.effects import effects, outstanding
from penstock.core.model import commands as c
from penstock.core.model import effects as f
from penstock.core.model import events as e
from tests.unit.core.graph.drive import Drive, graph

Json = Any


def task(name: str, **more: Json) -> dict[str, Json]:
    return {"id": name, "type": "task", "queue": "q", **more}


def undoable(name: str, **more: Json) -> dict[str, Json]:
    return task(name, compensate={"action": f"undo-{name}", **more})


def way(source: str, to: str, **more: Json) -> dict[str, Json]:
    return {"from": source, "to": to, **more}


def chain(*names: str) -> list[dict[str, Json]]:
    return [way(first, second) for first, second in pairwise(names)]


def run_of(*nodes: str | dict[str, Json], ways: list[dict[str, Json]], given: Json = None, **more: Json) -> Drive:
    """A run that has started."""
    return Drive(graph(*nodes, transitions=ways, **more), given).start()


def fanned(
    *, items: int = 3, node: dict[str, Json] | None = None, foreach: dict[str, Json] | None = None, **sync: Json
) -> Drive:
    """`a` has fanned out to `items` times `b`, which join at `j`."""
    ways = [
        way("a", "b", group="g", foreach={"in": "output", **(foreach or {})}),
        way("b", "j", synchronize={"group": "g", **sync}),
    ]
    return run_of("a", node or "b", "j", ways=ways).complete("a", list(range(items)))


def nodes_open(run: Drive) -> list[str]:
    return [found.node for found in run.open()]


def caused(run: Drive, command: c.Command) -> list[f.Effect]:
    """The effects of one command."""
    before = len(run.log)
    run.send(command)
    return effects(run.program, run.state, [event for event, _ in run.log[before:]])


def result(found: f.DispatchTask, output: Json = None) -> c.TaskResult:
    return c.TaskResult(found.token, found.attempt, found.nonce, "completed", output)


def failure(found: f.DispatchTask, *, retryable: bool = False) -> c.TaskResult:
    fault = e.Fault("BOOM", "it broke", retryable=retryable)
    return c.TaskResult(found.token, found.attempt, found.nonce, "failed", fault=fault)


def fail_task(run: Drive, found: f.DispatchTask, *, retryable: bool = False) -> Drive:
    return run.send(failure(found, retryable=retryable))


def asked(run: Drive) -> list[str]:
    """Approvals that people are asked for now."""
    return [effect.approval for effect in outstanding(run.program, run.state) if isinstance(effect, f.AskApproval)]


def children(run: Drive) -> list[str]:
    return [effect.child for effect in outstanding(run.program, run.state) if isinstance(effect, f.StartChild)]


def undone(run: Drive) -> list[tuple[str, Json]]:
    """Answer every compensation as it is asked for; what was undone, in order."""
    found = []
    while tasks := [task for task in run.open() if task.purpose == "undo"]:
        (one,) = tasks  # one at a time
        found.append((one.node, one.input["output"]))
        run.answer(one)
    return found


def recorded(run: Drive, kind: type[e.Event]) -> list[Any]:
    return [event for event, _ in run.log if isinstance(event, kind)]


@contextmanager
def bounded(calls: int = 300_000) -> Iterator[None]:
    """A decision without end fails instead of hanging; measured in calls, so that no machine is too slow for it."""
    left = calls

    def count(_frame: FrameType, _event: str, _argument: object) -> None:
        nonlocal left
        left -= 1
        assert left > 0, "it goes on without end"

    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(None)
