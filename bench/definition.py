"""How long a definition of 1,000 nodes takes to check and compile: `python -m bench.definition`."""

from __future__ import annotations

import sys
from time import perf_counter
from typing import Any

import msgspec

from bench.report import middle, report
from penstock.core.definition import check
from penstock.core.model.evaluate import Evaluator
from penstock.expr.cel.compile import compile_cel
from penstock.expr.evaluator import ExpressionEvaluator
from penstock.notation import read_text

NODES = 1_000
ROUNDS = 7
TARGET_MS = 200


def definition(nodes: int, *, conditions: bool) -> dict[str, Any]:
    """Blocks of ten: a branch on a condition, a fan-out with its join, a loop, mappings. All names differ."""
    listed: list[dict[str, Any]] = []
    transitions: list[dict[str, Any]] = []
    for at in range(0, nodes, 10):
        names = [f"step_{at + offset}" for offset in range(10)]
        listed += [{"id": name, "queue": "work", "retry": 3, "timeout": "30s"} for name in names]
        listed[at + 1]["input"] = {"order": "input.order", "total": f"nodes.step_{at}.output.total"}
        listed[at + 9]["output"] = {f"block.{at}": "output.result"}
        listed[at + 8]["loop"] = {"max_iterations": 5, "loop_back_to": names[7]}
        listed[at + 5]["fan_in"] = "all"
        if conditions:
            listed[at + 8]["loop"]["condition"] = f"output.status != {at}"
        edges = [(0, 1), (1, 2), (2, 3), (2, 4), (3, 5), (4, 5), (5, 6), (6, 7), (7, 8), (8, 9)]
        for source, to in edges:
            transitions.append({"from": names[source], "to": names[to]})
        transitions[-8]["group"] = transitions[-7]["group"] = f"group_{at}"
        if conditions:
            transitions.append({"from": names[5], "to": names[9], "when": f"output.total > {at}", "priority": 0})
        if at:
            transitions.append({"from": f"step_{at - 1}", "to": names[0]})
    return {"name": "bench", "nodes": listed, "transitions": transitions}


def main() -> bool:
    evaluator = ExpressionEvaluator()
    plain = definition(NODES, conditions=False)
    full = definition(NODES, conditions=True)
    engine = evaluator.engine
    ok = report("compile_1000_nodes", _compile(full, evaluator), "ms", target=TARGET_MS, at_least=False, engine=engine)
    ok &= report("compile_1000_nodes_no_conditions", _compile(plain, evaluator), "ms", target=TARGET_MS, at_least=False)
    small, large = (_compile(definition(size, conditions=True), evaluator) / size for size in (500, 5_000))
    ok &= report("compile_per_node_5000", large * 1000, "us", bare=small * 1000, target=2, at_least=False)
    text = msgspec.json.format(msgspec.json.encode(full), indent=2).decode()
    ok &= report("read_json_1000_nodes", _middle(lambda: read_text(text)), "ms", target=TARGET_MS, at_least=False)
    return ok


def _compile(data: dict[str, Any], evaluator: Evaluator) -> float:
    """Expressions are compiled anew each time: the cache of CEL is emptied."""

    def once() -> None:
        compile_cel.cache_clear()
        assert check(data, evaluator=evaluator).graph is not None

    return _middle(once)


def _middle(once: Any) -> float:  # noqa: ANN401 - a function
    times = []
    for _ in range(ROUNDS):
        start = perf_counter()
        once()
        times.append((perf_counter() - start) * 1000)
    return middle(times)


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
