"""Writes the golden histories: real runs of today's code, for later code to read.

    .venv/bin/python -m tests.histories.record

Once a release is out, its histories are never written again: a new release adds its own, in a folder of its version.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, Self, TypeAlias

import msgspec

from penstock.core.graph.state import ROOT, State
from penstock.core.model import commands as c
from penstock.core.model import events as e
from penstock.core.model.events import Event
from penstock.core.model.time import Instant
from tests.histories.shape import shapes
from tests.unit.core.graph.drive import Drive

Json: TypeAlias = Any

HERE = Path(__file__).parent
SHAPES = HERE / "shapes.json"


class Recorder(Drive):
    """A run that notes what it was asked, and when."""

    def __init__(self, definition: Json, input: Json = None) -> None:  # noqa: A002 - as users call it
        super().__init__(definition, input)
        self.definition = definition
        self.asked: list[tuple[Instant, c.Command, int]] = []

    def send(self, command: c.Command) -> Self:
        self.asked.append((self.now, command, len(self.log)))
        return super().send(command)

    def commits(self) -> list[tuple[Instant, c.Command, list[Event]]]:
        ends = [first for _, _, first in self.asked[1:]] + [len(self.log)]
        return [
            (at, command, [event for event, _ in self.log[first:end]])
            for (at, command, first), end in zip(self.asked, ends, strict=True)
        ]


def summary(state: State) -> Json:
    """What a run came to. Not the state itself: its layout may change from release to release, as snapshots may."""
    root = state.scopes[ROOT]
    found = {
        "status": state.status,
        "outcome": state.outcome,
        "fault": state.fault,
        "output": state.output,
        "state": root.data,
        "nodes": root.nodes,
        "errors": root.errors,
        "branches": state.branches,
        "open": [[token.id, token.node, token.status, token.attempt] for token in state.tokens.values()],
        "timers": [[name, timer.due] for name, timer in state.timers.items()],
        "undo": [[done.token, done.node, done.status] for done in state.undo.values()],
        "decided": state.decided,
        "counter": state.counter,
        "hops": state.hops,
    }
    return msgspec.json.decode(msgspec.json.encode(found))


# -- the runs


def task(name: str, **more: Json) -> Json:
    return {"id": name, "type": "task", "queue": "q", **more}


def way(*names: str, **more: Json) -> list[Json]:
    return [{"from": start, "to": end, **more} for start, end in pairwise(names)]


def routes() -> Recorder:
    """Mappings, conditions by tier, an agent that chooses, a fork and a named join."""
    definition = {
        "name": "routes",
        "state": {"limit": 50},
        "nodes": [
            task("score", input={"who": "input.name"}, output={"score": "output.points"}),
            task("high"),
            task("low"),
            {"id": "note", "type": "pass"},
            task("left"),
            task("right"),
            task("both", dependencies=["left", "right"], wait_for_all=True),
        ],
        "transitions": [
            *way("score", "high", when="output.points > state.limit"),
            *way("score", "low", priority=2),
            *way("high", "note"),
            *way("note", "left", "both"),
            *way("note", "right", "both"),
        ],
        "output": {"score": "state.score", "both": "nodes.both.output"},
    }
    run = Recorder(definition, {"name": "ann"})
    run.start().complete("score", {"points": 80}).complete("high", "h").advance(2)
    return run.complete("right", "r").complete("left", "l").complete("both", {"ok": True})


def branches() -> Recorder:
    """A foreach with a group inside, a join that settles, one that is a race, and an empty list."""
    definition = {
        "name": "branches",
        "nodes": [task("split"), task("ask"), task("quick"), task("slow"), task("best"), task("all"), task("none")],
        "transitions": [
            *way("split", "ask", foreach={"in": "output.items", "item": "item"}, group="outer"),
            *way("ask", "quick", group="race"),
            *way("ask", "slow", group="race"),
            *way("quick", "best", synchronize={"group": "race", "wait_for": "any"}),
            *way("slow", "best", synchronize={"group": "race", "wait_for": "any"}),
            *way("best", "all", synchronize={"group": "outer", "on_sibling_failure": "settle", "merge": "append"}),
            *way("all", "none", foreach="output.more", group="empty"),
        ],
    }
    run = Recorder(definition).start().complete("split", {"items": ["x", "y", "z"]})
    run.complete("ask", 1, index=2).complete("ask", 2, index=1).fail("ask", "NO_ANSWER")
    run.complete("slow", "slow-z", index=1).complete("quick", "quick-y").complete("best", "b").complete("best", "b2")
    return run.complete("all", {"more": []})


def loops() -> Recorder:
    """A loop with a limit, left by its condition, with attempts and time limits inside."""
    retry = {"max_attempts": 3, "backoff": "exponential", "delay": "1s"}
    again = {"condition": "output.left > 0", "max_iterations": 4, "loop_back_to": "fetch"}
    definition = {
        "name": "loops",
        "nodes": [
            task("fetch", dependents=["page"], retry=retry, timeout="10s", queue_timeout="0s"),
            task("page", loop=again, dependents=["end"], input={"turn": "loop.iteration"}),
            task("end"),
        ],
    }
    run = Recorder(definition).start().fail("fetch", retryable=True).advance(1).advance(15).advance(2)
    run.complete("fetch", 1).complete("page", {"left": 1}).complete("fetch", 2).complete("page", {"left": 0})
    return run.complete("end", "done")


def people() -> Recorder:
    """A timer, a signal that came early, an approval by somebody and one by nobody."""
    definition = {
        "name": "people",
        "nodes": [
            {"id": "sleep", "type": "wait", "wait": {"duration": "1h"}},
            {"id": "paid", "type": "wait", "wait": {"signal": "paid", "timeout": "1d"}},
            {"id": "boss", "type": "human", "human_config": {"approvers": ["ann"], "timeout_hours": 1}},
            {
                "id": "audit",
                "type": "human",
                "human": {"approvers": ["bob"], "timeout": "1h", "on_timeout": "reject", "rejection_path": ["later"]},
            },
            task("now"),
            task("later"),
        ],
        "transitions": way("sleep", "paid", "boss", "audit", "now"),
    }
    run = Recorder(definition, {"order": 7}).start().send(c.SendSignal("s-1", "paid", {"amount": 5})).advance(3600)
    (approval,) = run.state.approvals
    run.send(c.DecideApproval(approval, "approved", "ann", "fine")).advance(3600)
    return run.complete("later", "l")


def failures() -> Recorder:
    """A caught failure, a parked token, a failed child, and what was done undone."""
    definition = {
        "name": "failures",
        "nodes": [
            task("book", compensate={"action": "cancel", "retry": 2}),
            task("try", retry=2),
            task("mend", on_exhausted="park", compensate={"action": "unmend"}),
            {"id": "sub", "type": "workflow", "workflow": "sub"},
        ],
        "transitions": [*way("book", "try"), *way("try", "mend", on="error"), *way("mend", "sub")],
    }
    run = Recorder(definition).start().complete("book", "b")
    run.fail("try", retryable=True).advance(0).fail("try", "AGAIN").fail("mend")
    (parked,) = run.state.tokens
    run.send(c.RetryParked(parked)).complete("mend", "m")
    (child,) = run.state.children
    run.send(c.EndChild(child, "failed")).complete("mend", "unmended")
    return run.fail("book", "BUSY", retryable=True).advance(60).complete("book", "unbooked")


def stopped() -> Recorder:
    """Paused, resumed, and cancelled with work under way that reports in its grace, and work that does not."""
    definition = {
        "name": "stopped",
        "deadline": "1h",
        "nodes": [task("a"), task("b", parallelism=1), task("c")],
        "transitions": [*way("a", "b", foreach={"in": "output", "max_parallel": 3}, group="g"), *way("b", "c")],
    }
    run = Recorder(definition).start()
    first = run.open()[0]
    run.send(c.Pause()).answer(first, [1, 2, 3, 4]).send(c.Resume()).complete("b", 1).complete("b", 2)
    late = run.open("c")[0]
    return run.send(c.Cancel("enough")).answer(late, "late").advance(31)


def patched() -> Recorder:
    """Patched under way, proposed and approved, and back again."""
    definition = {"name": "patched", "nodes": [task("a"), task("b", retry=2)], "transitions": way("a", "b")}
    run = Recorder(definition).start()
    run.send(c.Patch("p1", ({"op": "replace", "path": "/nodes/b/queue", "value": "fast"},), "ann"))
    more = (
        {"op": "add", "path": "/nodes/-", "value": task("c")},
        {"op": "add", "path": "/transitions/-", "value": {"from": "b", "to": "c"}},
    )
    run.send(c.ProposePatch("p2", more, "ben", note="tell them")).complete("a", 1)
    run.send(c.DecidePatch("p2", "approved", "ann")).fail("b", "BUSY", retryable=True)
    run.send(c.Revert("p3", 1, "ann")).advance(1)
    return run.complete("b", 2)


def judged() -> Recorder:
    """User code decides the way; work found done before; artifacts."""
    code = {"type": "python_sandbox", "code": "def evaluate(output, context):\n    return output > 1"}
    definition = {
        "name": "judged",
        "artifacts": {"report": None},
        "nodes": [task("make"), task("again", memoize=True), task("never")],
        "transitions": [*way("make", "again", when=code), *way("make", "never", priority=2)],
    }
    run = Recorder(definition).start()
    made = run.open()[0]
    report = e.Artifact("q3", "cas://sha256:00", "report", {"pages": 3})
    run.send(c.TaskResult(made.token, made.attempt, made.nonce, "completed", 7, artifacts=(report,)))
    (asked,) = run.open()
    run.answer(asked, {program["id"]: True for program in asked.config["programs"]})
    return run.complete("again", "done")


RUNS: tuple[Callable[[], Recorder], ...] = (routes, branches, loops, people, failures, stopped, patched, judged)


def write(run: Recorder, path: Path) -> None:
    lines = [
        {"definition": run.definition, "input": run.input},
        *({"at": at, "command": command, "events": events} for at, command, events in run.commits()),
        {"came_to": summary(run.state)},
    ]
    path.write_bytes(b"\n".join(map(msgspec.json.encode, lines)) + b"\n")


def main() -> int:
    for make in RUNS:
        write(make(), HERE / f"{make.__name__}.jsonl")
    SHAPES.write_bytes(
        b"{\n"
        + b",\n".join(
            msgspec.json.encode(tag) + b": " + msgspec.json.encode(found) for tag, found in sorted(shapes().items())
        )
        + b"\n}\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
