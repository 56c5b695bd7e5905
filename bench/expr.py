"""What conditions, mappings and scripts cost once compiled: `python -m bench.expr`, one JSON line per figure.

The examples are those of the seeds, on a context of about two kilobytes.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from timeit import repeat
from typing import Any

import msgspec
import uvloop

from bench.report import middle, report
from penstock.core.model.evaluate import Json
from penstock.expr.cel.compile import available_engine
from penstock.expr.evaluator import ExpressionEvaluator
from penstock.expr.script import Script, Scripts

MICRO = 1_000_000
WORKERS = 10
ROUNDS = 15

OUTPUT: dict[str, Any] = {
    "status": "failed",
    "score": 91,
    "error_code": "TIMEOUT",
    "amount": 99,
    "revenue": 120_000,
    "errors": ["a", "b"],
    "data": {
        "customers": [
            {"id": f"c-{n}", "tier": "basic" if n % 3 else "enterprise", "revenue": n * 1000} for n in range(20)
        ]
    },
    "transactions": [{"id": f"t-{n}", "amount": n * 150} for n in range(20)],
}
NODES = {
    "enrich_data": {"output": {"revenue": 200_000}},
    "calculate_total": {"output": {"final_amount": 99.0}},
    "forecast": {"output": {"predicted_revenue": 100_000}},
}
CONTEXT: dict[str, Any] = {"output": OUTPUT, "nodes": NODES, "input": {"customer": "c-1"}, "state": {"tries": 2}}

CEL = "output.score >= 80 && ctx.enrich_data.output.revenue > 100000"
SCHEMA = {
    "type": "schema_validation",
    "schema": {
        "type": "object",
        "required": ["status", "data"],
        "properties": {"status": {"const": "success"}, "data": {"type": "array", "minItems": 1}},
    },
    "invert": True,
}
JSONPATH = {
    "type": "jsonpath",
    "query": "$.data.customers[?(@.tier == 'enterprise')].length()",
    "operator": ">",
    "value": 0,
}
SUM = {"type": "jsonpath", "query": "$.transactions[*].amount", "operator": "sum_gt", "value": 10_000}
OPERANDS = {
    "type": "cross_node_comparison",
    "left": {"source": "current", "path": "output.amount"},
    "operator": "==",
    "right": {"source": "context", "node": "calculate_total", "path": "output.final_amount"},
}
GROWTH = {
    "type": "cross_node_comparison",
    "expression": "(current.output.revenue - ctx.forecast.output.predicted_revenue)"
    " / ctx.forecast.output.predicted_revenue > 0.1",
}
THREE = {
    "type": "composite",
    "operator": "AND",
    "conditions": [
        "output.status != 'success'",
        {
            "type": "jsonpath",
            "query": "$.error_code",
            "operator": "in",
            "value": ["TIMEOUT", "RATE_LIMIT", "TEMP_ERROR"],
        },
        OPERANDS,
    ],
}
MAPPING = {"score": "output.score", "first": "$.output.transactions[0].id", "text": "Dear {{ input.customer }}"}
# What no script in a process of its own can be faster than: a child that sends back what it is sent.
ECHO = """
import os
while data := os.read(0, 1 << 16):
    os.write(0, data)
"""
PYTHON = """
def evaluate(output, context):
    before = context["forecast"]["output"]["predicted_revenue"]
    return (output["revenue"] - before) / before > 0.1
"""
BARE_PYTHON = PYTHON + "import json\nevaluate(*json.loads(values))"


def main() -> None:
    context_bytes = len(msgspec.json.encode(CONTEXT))
    results = [*conditions(context_bytes), *uvloop.run(scripts(context_bytes))]
    sys.exit(0 if all(results) else 1)


def conditions(context_bytes: int) -> list[bool]:
    evaluator = ExpressionEvaluator()
    fast = available_engine() == "cel-expr-python"

    def timed(bench: str, source: Json, target: float) -> bool:
        condition = evaluator.condition(source)
        assert condition.evaluate(CONTEXT) is True
        return figure(bench, per_call(lambda: condition.evaluate(CONTEXT)), target, context_bytes=context_bytes)

    mapping = evaluator.input_mapping(MAPPING)
    return [
        timed("expr.cel", CEL, 10 if fast else 1000),
        timed("expr.schema_validation", SCHEMA, 5),
        timed("expr.jsonpath.filter", JSONPATH, 40),
        timed("expr.jsonpath.sum", SUM, 40),
        timed("expr.cross_node.operands", OPERANDS, 15),
        timed("expr.cross_node.expression", GROWTH, 15),
        timed("expr.composite_of_three", THREE, 80 if fast else 1000),
        figure("expr.mapping_of_three", per_call(lambda: mapping.evaluate(CONTEXT)), 40, context_bytes=context_bytes),
    ]


async def scripts(context_bytes: int) -> list[bool]:
    values = {"output": OUTPUT}
    lua = Script("lua", "return output.score > 80", ("output",))
    ale = Script("ale", "(> (:score output) 80)", ("output",))
    async with Scripts(processes=WORKERS) as door:
        assert door.test_now(ale, values)
        in_process = per_call(lambda: door.test_now(ale, values))

        async def run_lua() -> None:
            assert await door.test(lua, values)

        async def run_python() -> None:
            assert await door.evaluate_python(PYTHON, OUTPUT, NODES)

        # First alone, then all at once, so that every worker of the pool is there to be weighed.
        async with echo(msgspec.msgpack.encode(values)) as run_echo:
            round_trip, bare = await per_await(run_lua, run_echo)
        await asyncio.gather(*(run_lua() for _ in range(WORKERS * 4)))
        private, resident = worker_megabytes("Private_"), worker_megabytes("Rss")
        with bare_python(door.python_engine) as run_bare:
            sandbox, *alone = await per_await(run_python, *run_bare)
        engine = door.python_engine
    weighed = [idle_worker(private, resident)] if private else []
    return [
        figure("expr.ale", in_process, 20, context_bytes=context_bytes),
        figure("expr.lua", round_trip, 100, bare, context_bytes=context_bytes),
        figure("expr.python_sandbox", sandbox, 300, *alone, context_bytes=context_bytes, engine=engine),
        *weighed,
    ]


@contextmanager
def bare_python(engine: str) -> Iterator[list[Callable[[], Awaitable[None]]]]:
    """The interpreter alone: the same program on the same values, in a session of its own, with nothing around it."""
    if engine != "monty":
        yield []
        return
    from pydantic_monty import Monty  # noqa: PLC0415 - may not be installed

    with Monty() as pool:

        async def run_bare() -> None:
            with pool.checkout() as session:
                inputs = {"values": msgspec.json.encode([OUTPUT, NODES]).decode()}
                assert session.feed_run(BARE_PYTHON, inputs=inputs) is True

        yield [run_bare]


def idle_worker(private: list[float], resident: list[float]) -> bool:
    conditions: dict[str, Json] = {"resident": round(middle(resident), 3), "workers": len(private)}
    return report("expr.idle_worker", middle(private), "MB", target=15, at_least=False, **conditions)


def figure(bench: str, rounds: list[float], target: float, bare: list[float] | None = None, **conditions: Json) -> bool:
    """The middle round is the figure; the best one and the bare one beside it say how busy the machine was."""
    conditions["best"] = round(min(rounds), 3)
    floor = middle(bare) if bare else None
    return report(bench, middle(rounds), "µs", target=target, at_least=False, bare=floor, by_ratio=False, **conditions)


def per_call(call: Callable[[], object], number: int = 2000) -> list[float]:
    """Microseconds per call, by round."""
    call()
    return [seconds / number * MICRO for seconds in repeat(call, number=number, repeat=ROUNDS)]


async def per_await(*calls: Callable[[], Awaitable[object]], number: int = 300) -> list[list[float]]:
    """The same of each, turn by turn, so that a busy machine is as busy for one as for the other."""
    rounds: list[list[float]] = [[] for _ in calls]
    for call in calls:
        await call()
    for _ in range(ROUNDS):
        for call, taken in zip(calls, rounds, strict=True):
            start = perf_counter()
            for _ in range(number):
                await call()
            taken.append((perf_counter() - start) / number * MICRO)
    return rounds


class Echoed(asyncio.Protocol):
    def __init__(self, size: int) -> None:
        self._size = size
        self._missing = size
        self.whole: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        self._missing -= len(data)
        if not self._missing:
            self._missing = self._size
            self.whole.set_result(None)


@asynccontextmanager
async def echo(message: bytes) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    loop = asyncio.get_running_loop()
    ours, theirs = socket.socketpair()
    with theirs:
        child = subprocess.Popen([sys.executable, "-I", "-S", "-c", ECHO], stdin=theirs.fileno())  # noqa: ASYNC220, S603 - our own
    transport, echoed = await loop.create_unix_connection(lambda: Echoed(len(message)), sock=ours)

    async def run_echo() -> None:
        echoed.whole = loop.create_future()
        transport.write(message)
        await echoed.whole

    yield run_echo
    transport.close()
    await asyncio.to_thread(child.wait)


def worker_megabytes(kind: str) -> list[float]:
    """Memory of the sandbox processes we started: `Private_` is what one more costs, `Rss` counts shared pages too."""
    own = Path("/proc/self/task")
    if not own.exists():
        return []
    children = [int(pid) for task in own.iterdir() for pid in (task / "children").read_text().split()]
    return [megabytes for pid in children if (megabytes := process_megabytes(pid, kind))]


def process_megabytes(pid: int, kind: str) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith(kind)) / 1024


if __name__ == "__main__":
    if find_spec("lupa") is None:
        sys.exit("bench.expr needs penstock[server]")
    main()
