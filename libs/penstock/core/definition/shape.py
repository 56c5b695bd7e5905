"""The shape of the graph: what leads where, which cycles there are, what lies before what.

Everything is linear in the edges, or one operation on bit sets per edge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import TypeAlias

from penstock.core.definition.routes import Edge, Routes

Neighbours: TypeAlias = Callable[[str], Iterable[str]]


class Order:
    """What lies before what, cycles taken as one."""

    def __init__(self, index: dict[str, int], edges: Iterable[Edge]) -> None:
        self._index = index
        self._names = list(index)
        self._leaving: dict[str, list[str]] = {name: [] for name in index}
        self._entering: dict[str, list[str]] = {name: [] for name in index}
        for edge in edges:
            self._leaving[edge.source].append(edge.to)
            self._entering[edge.to].append(edge.source)
        self.component = components(self._names, self._leaving.__getitem__)

    def together(self, first: str, second: str) -> bool:
        """Both are in one cycle."""
        return self.component[first] == self.component[second]

    @cached_property
    def cyclic(self) -> frozenset[str]:
        return frozenset(name for name in self._names if any(self.together(name, to) for to in self._leaving[name]))

    def before(self, name: str) -> int:
        """The node, its cycle and all that lies before, as bits by index."""
        return self._before[self.component[name]]

    def is_before(self, first: str, second: str) -> bool:
        return bool(self.before(second) >> self._index[first] & 1)

    def between(self, first: str, last: str) -> Iterator[str]:
        """What lies on a way from the first to the last, both included."""
        bits = self._after[self.component[first]] & self.before(last)
        while bits:
            low = bits & -bits
            yield self._names[low.bit_length() - 1]
            bits ^= low

    def a_cycle(self) -> Iterator[list[str]]:
        """One cycle of every knot."""
        seen: set[int] = set()
        for name in self._names:
            if name in self.cyclic and self.component[name] not in seen:
                seen.add(self.component[name])
                yield _cycle(name, lambda at: (to for to in self._leaving[at] if self.together(at, to)))

    @cached_property
    def _before(self) -> list[int]:
        return self._spread(self._entering, backwards=True)

    @cached_property
    def _after(self) -> list[int]:
        return self._spread(self._leaving, backwards=False)

    def _spread(self, neighbours: dict[str, list[str]], *, backwards: bool) -> list[int]:
        """Per component, the bits of all that can be reached. Edges lead to components with lower numbers."""
        members: list[list[str]] = [[] for _ in range(max(self.component.values(), default=-1) + 1)]
        for name, number in self.component.items():
            members[number].append(name)
        bits = [0] * len(members)
        numbers = range(len(members))
        for number in reversed(numbers) if backwards else numbers:
            for name in members[number]:
                bits[number] |= 1 << self._index[name]
                for other in neighbours[name]:
                    bits[number] |= bits[self.component[other]]
        return bits


class Shape:
    def __init__(self, routes: Routes) -> None:
        self._routes = routes
        self.index = {name: index for index, name in enumerate(routes.leaving)}
        self.taken = Order(self.index, (edge for edge in routes.all() if edge.kind != "dead"))
        """Every way a token can take."""

    @cached_property
    def forward(self) -> Order:
        """Without what loops go back on, in either spelling: around an outer loop, everything would be in the inner."""
        edges = (edge for edge in self._routes.all() if edge.kind != "dead" and not self.is_loop_back(edge))
        return Order(self.index, edges)

    def is_loop_back(self, edge: Edge) -> bool:
        return edge.kind == "back" or (edge.limit is not None and self.taken.together(edge.source, edge.to))

    def entries(self) -> tuple[str, ...]:
        """Every node that nothing but a loop-back leads to."""
        entering = self._routes.entering
        return tuple(name for name in self.index if all(self.is_loop_back(edge) for edge in entering[name]))

    def reachable(self, start: Iterable[str]) -> set[str]:
        found = set(start)
        left = list(found)
        while left:
            for edge in self._routes.leaving[left.pop()]:
                if edge.to not in found:
                    found.add(edge.to)
                    left.append(edge.to)
        return found

    def cycles_without(self, limited: Callable[[Edge], bool]) -> Iterator[list[str]]:
        """One cycle of every knot that no limit cuts."""
        edges = (edge for edge in self._routes.all() if edge.kind != "dead" and not limited(edge))
        return Order(self.index, edges).a_cycle()


def _cycle(start: str, following: Neighbours) -> list[str]:
    """The shortest way from `start` back to it."""
    came: dict[str, str] = {}
    left = [start]
    for at in left:
        for to in following(at):
            if to == start:
                way = [start, at]
                while way[-1] != start:
                    way.append(came[way[-1]])
                return way[::-1] if at != start else [start, start]
            if to not in came:
                came[to] = at
                left.append(to)
    return [start]


def components(names: list[str], following: Neighbours) -> dict[str, int]:
    """Strongly connected components (Tarjan's), numbered so that edges lead to lower numbers."""
    found = _Components(following)
    for name in names:
        if name not in found.low:
            found.visit(name)
    return found.number


class _Components:
    def __init__(self, following: Neighbours) -> None:
        self._following = following
        self.number: dict[str, int] = {}
        self.low: dict[str, int] = {}
        self._order: dict[str, int] = {}
        self._open: list[str] = []
        self._count = 0

    def visit(self, root: str) -> None:
        work = [(root, self._enter(root))]
        while work:
            name, rest = work[-1]
            inner = self._next(name, rest)
            if inner is not None:
                work.append((inner, self._enter(inner)))
                continue
            work.pop()
            if work:
                before = work[-1][0]
                self.low[before] = min(self.low[before], self.low[name])
            if self.low[name] == self._order[name]:
                self._close(name)

    def _enter(self, name: str) -> Iterator[str]:
        self._order[name] = self.low[name] = len(self._order)
        self._open.append(name)
        return iter(self._following(name))

    def _next(self, name: str, rest: Iterator[str]) -> str | None:
        for to in rest:
            if to not in self._order:
                return to
            if to not in self.number:
                self.low[name] = min(self.low[name], self._order[to])
        return None

    def _close(self, name: str) -> None:
        member = ""
        while member != name:
            member = self._open.pop()
            self.number[member] = self._count
        self._count += 1
