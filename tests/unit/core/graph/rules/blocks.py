"""Random definitions out of nested blocks: tasks, loops, forks with a named join, groups with a join, sequences.

Every block has one way in and one way out, so they nest freely. What a task puts out follows from its node and its
input alone, so that nothing but the schedule can make two runs differ.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, NamedTuple

import msgspec
from hypothesis import strategies as st

from penstock.core.model import effects as f
from tests.unit.core.graph.drive import Drive, graph
from tests.unit.core.graph.rules.shapes import fail_task, task, way

Json = Any

MERGES = ("append", "concat", "keyed_by_branch", "last_wins")


class Task(NamedTuple):
    mapped: bool = False
    """It writes its output into its scope."""
    fails: bool = False
    """It fails for some inputs."""
    turns: int = 1


class Fork(NamedTuple):
    """Two ways in one scope, and a named join."""

    first: Any
    second: Any


class Group(NamedTuple):
    size: int
    foreach: bool
    body: Any
    strategy: str
    target: bool
    settles: bool
    strays: bool
    """Its second branch goes elsewhere."""
    needed: int = 0
    early: str = "cancel"


class Sequence(NamedTuple):
    parts: tuple[Any, ...]


def blocks(*, fails: bool = False, forks: bool = True, some: bool = False) -> st.SearchStrategy[Any]:
    """`fails`: tasks may fail, and groups settle. `some`: joins that wait for some of their branches."""
    tasks = st.builds(
        Task,
        mapped=st.booleans(),
        fails=st.booleans() if fails else st.just(False),
        turns=st.integers(1, 2),
    )

    def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        groups = st.builds(
            Group,
            size=st.integers(0, 3),
            foreach=st.booleans(),
            body=inner,
            strategy=st.sampled_from(MERGES),
            target=st.booleans(),
            settles=st.just(fails),
            strays=st.booleans(),
            needed=st.integers(0, 2) if some else st.just(0),
            early=st.sampled_from(["cancel", "abandon"]) if some else st.just("cancel"),
        )
        sequences = st.builds(Sequence, st.tuples(inner, inner))
        return st.one_of(groups, groups, sequences, *([st.builds(Fork, inner, inner)] if forks else []))

    return st.recursive(tasks, nested, max_leaves=4)


class Written:
    """A definition made of a block."""

    def __init__(self, block: Any) -> None:  # noqa: ANN401 - a block
        self.nodes: list[dict[str, Json]] = []
        self.ways: list[dict[str, Json]] = []
        self.failing: set[str] = set()
        first = self._node("pass")
        last = self._write(block, first)
        self._way(last, self._node("task"))

    def definition(self) -> dict[str, Json]:
        return graph(*self.nodes, transitions=self.ways)

    def _node(self, kind: str, **more: Json) -> str:
        name = f"n{len(self.nodes)}"
        self.nodes.append(task(name, **more) if kind == "task" else {"id": name, "type": kind, **more})
        return name

    def _way(self, source: str, to: str, **more: Json) -> None:
        self.ways.append(way(source, to, **more))

    def _write(self, block: Any, before: str) -> str:  # noqa: ANN401 - a block
        """Add the block behind the node `before`; the node that it ends at."""
        match block:
            case Task():
                name = self._task(block)
                self._way(before, name)
                return name
            case Sequence(parts):
                for part in parts:
                    before = self._write(part, before)
                return before
            case Fork(first, second):
                ends = [self._write(first, before), self._write(second, before)]
                return self._node("task", dependencies=ends, wait_for_all=True, on_unreachable="proceed")
            case Group():
                return self._group(block, before)
        raise AssertionError(block)

    def _task(self, block: Task) -> str:
        more: dict[str, Json] = {}
        if block.turns > 1:
            more["loop"] = {"condition": f"loop.iteration < {block.turns}", "max_iterations": 5}
        name = self._node("task", **more)
        if block.mapped:
            self.nodes[-1]["output"] = {name: "output"}
        if block.fails:
            self.failing.add(name)
        return name

    def _group(self, block: Group, before: str) -> str:
        name = f"g{len(self.nodes)}"
        first = self._node("pass")
        items: dict[str, Json] = {"foreach": str(list(range(block.size)))} if block.foreach else {"spawn": block.size}
        self._way(before, first, group=name, **items)
        enter = self._node("task", input={"index": "_branch.index", "item": "_branch.item"})
        if block.strays:
            self._way(first, self._node("pass"), when="_branch.index == 1")
            self._way(first, enter, priority=2)
        else:
            self._way(first, enter)
        last = self._write(block.body, enter)
        join = self._node("task")
        rule: dict[str, Json] = {"group": name, "merge": {"strategy": block.strategy}}
        if block.target:
            rule["merge"]["target"] = name
        if block.settles:
            rule["on_sibling_failure"] = "settle"
        if block.needed and (block.foreach or block.needed <= block.size):
            rule |= {
                "wait_for": {"m_of_n": block.needed},
                "on_early_complete": block.early,
                "on_empty": "complete",
            }
        self._way(last, join, synchronize=rule)
        return join


def output_of(found: f.DispatchTask) -> str:
    return f"{found.node}:{sha256(msgspec.json.encode(found.input, order='deterministic')).hexdigest()[:6]}"


def answer(run: Drive, found: f.DispatchTask, failing: set[str]) -> None:
    """As a worker would: some inputs are too much for some nodes."""
    output = output_of(found)
    if found.node in failing and output[-1] in "02468ace":
        fail_task(run, found)
    else:
        run.answer(found, output)
