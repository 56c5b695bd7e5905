"""A definition as the interpreter walks it: nodes with their ways out, defaults filled in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from penstock.core.model.evaluate import Condition, InputMapping, OutputMapping

LAST_TIER: Final = 1 << 30


class Merge(Struct, frozen=True):
    strategy: str
    target: str | None
    source: InputMapping | None
    key: InputMapping | None


class Join(Struct, frozen=True):
    """How a group comes together. `group` None: the innermost."""

    group: str | None
    needed: int
    """0: all."""
    settle: bool
    empty_completes: bool
    merge: Merge


class Edge(Struct, frozen=True):
    """One way from a node to another."""

    id: str
    source: str
    to: str
    order: int = 0
    when: Condition | None = None
    tier: int = 1
    catches: bool = False
    """`on: error`."""
    foreach: InputMapping | None = None
    item: str | None = None
    spawn: int | None = None
    group: str | None = None
    join: Join | None = None
    limit: int | None = None
    """`max_iterations` of a back-edge."""

    @property
    def reads_error(self) -> bool:
        return self.when is not None and any(read[:2] == ("state", "_last_error") for read in self.when.reads)


class Loop(Struct, frozen=True):
    condition: Condition | None
    limit: int | None
    back: tuple[Edge, ...]
    broken: tuple[Edge, ...] | None
    timed_out: tuple[Edge, ...] | None


class Branch(Struct, frozen=True):
    agent: bool
    rules: tuple[tuple[Condition | None, tuple[Edge, ...]], ...]
    default: tuple[Edge, ...]
    available: frozenset[str]


class Node(Struct, frozen=True):
    id: str
    order: int
    type: str
    input: InputMapping | None
    output: OutputMapping | None
    output_schema: Condition | None
    attempts: int
    edges: tuple[Edge, ...]
    loop: Loop | None
    branch: Branch | None
    rejected: tuple[Edge, ...] | None
    fan_out: str | None
    errs_on_no_match: bool
    errs_on_condition_error: bool
    waits: bool
    """A named join."""
    proceeds: bool
    dependencies: tuple[str, ...]
    compensated: bool

    def ways(self) -> Iterator[Edge]:
        """Every way out but the loop's way back."""
        yield from self.edges
        yield from self.rejected or ()
        if self.loop:
            yield from (*(self.loop.broken or ()), *(self.loop.timed_out or ()))
        if self.branch:
            yield from (edge for _, edges in self.branch.rules for edge in edges)
            yield from self.branch.default
            yield from (plain_edge(self.id, to) for to in sorted(self.branch.available))


def plain_edge(source: str, to: str, join: Join | None = None) -> Edge:
    return Edge("", source, to, join=join)
