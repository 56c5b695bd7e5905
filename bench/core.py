"""The graph decider: microseconds per hop, big fan-outs, rebuild and snapshots. CPU of one core, no I/O."""

from __future__ import annotations

import sys
import time
from typing import Any

import msgspec

from bench.report import middle, report
from penstock.core.definition import compile_definition
from penstock.core.graph.decide import decide
from penstock.core.graph.effects import effects
from penstock.core.graph.evolve import evolve
from penstock.core.graph.program import Program
from penstock.core.graph.state import State
from penstock.core.model import commands as c
from penstock.core.model import effects as f
from penstock.core.model import events as e
from penstock.core.model.time import SECOND, Instant
from penstock.expr.evaluator import ExpressionEvaluator

Json = Any
NOW = Instant(SECOND)
EVALUATOR = ExpressionEvaluator()


def task(name: str, **more: Json) -> Json:
    return {"id": name, "type": "task", "queue": "q", **more}


def program(nodes: list[Json], transitions: list[Json]) -> Program:
    definition = {"name": "bench", "nodes": nodes, "transitions": transitions}
    return Program(compile_definition(definition, evaluator=EVALUATOR), EVALUATOR)


class Run:
    def __init__(self, graph: Program, given: Json) -> None:
        self.graph, self.state, self.given = graph, State(), given
        self.log: list[e.Event] = []
        self.queue: list[f.DispatchTask] = []
        self.commands = 0

    def send(self, command: c.Command) -> None:
        events = decide(self.graph, self.state, command, NOW)
        self.log += events
        found = effects(self.graph, self.state, events)
        self.queue += [effect for effect in found if isinstance(effect, f.DispatchTask)]
        self.commands += 1
        if any(isinstance(effect, f.ContinueRun) for effect in found):
            self.send(c.Continue())

    def play(self, output: Json) -> float:
        """Seconds from start to close, everything answered with `output`."""
        start = time.perf_counter()
        self.send(c.Start("bench", "hash", self.given, "seed"))
        while self.queue:
            task_ = self.queue.pop()
            self.send(c.TaskResult(task_.token, task_.attempt, task_.nonce, "completed", output))
        elapsed = time.perf_counter() - start
        assert self.state.status == "closed", self.state
        return elapsed


def per_hop(graph: Program, output: Json, rounds: int = 300) -> float:
    runs = [Run(graph, {"x": 1}) for _ in range(rounds)]
    times = [run.play(output) / run.state.hops for run in runs]
    return middle(times) * 1e6


def sequence() -> bool:
    graph = program([task(name) for name in "abc"], [{"from": "a", "to": "b"}, {"from": "b", "to": "c"}])
    return report("core.sequence", per_hop(graph, {"y": 1}), "us/hop", target=40, at_least=False)


def diamond() -> bool:
    join: Json = {"group": "g", "wait_for": "all"}
    branches = [f"b{number}" for number in range(10)]
    ways: list[Json] = [{"from": "a", "to": name, "group": "g"} for name in branches]
    ways += [{"from": name, "to": "z", "synchronize": join} for name in branches]
    graph = program([task("a"), *map(task, branches), task("z")], ways)
    return report("core.diamond", per_hop(graph, {"y": 1}), "us/token", target=50, at_least=False)


def branch() -> bool:
    ways = [
        {"from": "a", "to": "b", "when": "output.score >= 80 && state.limit > 3"},
        {"from": "a", "to": "c", "when": "output.score >= 50", "priority": 2},
        {"from": "a", "to": "d", "priority": 3},
    ]
    definition = {"name": "bench", "nodes": [task(n) for n in "abcd"], "transitions": ways, "state": {"limit": 5}}
    graph = Program(compile_definition(definition, evaluator=EVALUATOR), EVALUATOR)
    return report("core.branch.cel", per_hop(graph, {"score": 60}), "us/hop", target=60, at_least=False)


def fan(size: int) -> float:
    ways = [
        {"from": "a", "to": "b", "foreach": {"in": "output.items"}, "group": "g"},
        {"from": "b", "to": "z", "synchronize": {"group": "g", "wait_for": "all"}},
    ]
    run = Run(program([task("a"), task("b"), task("z")], ways), None)
    return run.play({"items": list(range(size))})


def fan_out() -> bool:
    whole = middle([fan(10_000) for _ in range(3)])
    small = middle([fan(100) for _ in range(30)]) / 100
    return all(
        (
            report("core.foreach.10000", whole, "s", target=1.0, at_least=False),
            report("core.foreach.scaling", whole / 10_000 / small, "x", target=1.5, at_least=False),
        )
    )


def rebuild() -> bool:
    graph = program([task(name) for name in "abc"], [{"from": "a", "to": "b"}, {"from": "b", "to": "c"}])
    run = Run(graph, {"x": 1})
    run.play({"y": 1})
    rates = []
    for _ in range(200):
        start = time.perf_counter()
        for _ in range(20):
            state = State()
            for event in run.log:
                evolve(state, event, NOW)
        rates.append(20 * len(run.log) / (time.perf_counter() - start))
    return report("core.rebuild", middle(rates), "events/s", target=100_000)


def snapshot() -> bool:
    ways = [{"from": "a", "to": "b", "foreach": {"in": "output.items"}, "group": "g"}]
    run = Run(program([task("a"), task("b")], ways), None)
    run.send(c.Start("bench", "hash", None, "seed"))
    first = run.queue.pop()
    items = [{"order": number} for number in range(1_000)]
    run.send(c.TaskResult(first.token, 1, first.nonce, "completed", {"items": items}))
    times, body = [], b""
    for _ in range(30):
        start = time.perf_counter()
        body = msgspec.msgpack.encode(run.state)
        times.append((time.perf_counter() - start) * 1e3)
    assert msgspec.msgpack.decode(body, type=State) == run.state
    return all(
        (
            report("core.snapshot.1000", middle(times), "ms", target=5, at_least=False),
            report("core.snapshot.bytes", len(body) / 1_000, "B/token", target=400, at_least=False),
        )
    )


def main() -> int:
    return 0 if all([sequence(), diamond(), branch(), fan_out(), rebuild(), snapshot()]) else 1


if __name__ == "__main__":
    sys.exit(main())
