"""What follows from the shape of a definition: where runs start, what joins a group, what a loop goes round."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from penstock.core.model.evaluate import Condition, Evaluator, InputMapping
from penstock.testkit.reference.read import Reader
from penstock.testkit.reference.script import Json
from penstock.testkit.reference.shape import Edge, Join, Node


class Cycle(Struct, frozen=True):
    """A loop or back-edge: the looping node, and all nodes from which it can be reached without leaving the loop."""

    source: str
    body: frozenset[str]


class Graph:
    def __init__(self, definition: Json, evaluator: Evaluator) -> None:
        self.nodes: dict[str, Node] = Reader(definition, evaluator).nodes()
        self.initial_state: dict[str, Json] = definition.get("state") or {}
        self.output: InputMapping | None = (
            None if definition.get("output") is None else evaluator.input_mapping(definition["output"])
        )
        self.state_schema: Condition | None = (
            evaluator.condition({"type": "schema_validation", "schema": definition["state_schema"]})
            if "state_schema" in definition
            else None
        )
        self._sources: dict[str, list[str]] = {name: [] for name in self.nodes}
        for node in self.nodes.values():
            for edge in node.ways():
                if node.id not in self._sources[edge.to]:
                    self._sources[edge.to].append(node.id)
        self.cycles = tuple(self._cycles())
        self.entries = self._entries(definition.get("entry"))
        self.joins: dict[str, tuple[Join, str]] = {}
        """By group: how and where it is joined."""
        self._find_joins()
        self.predecessors = {name: self._predecessors(node) for name, node in self.nodes.items() if node.waits}

    def cycles_around(self, node: str) -> list[Cycle]:
        return [cycle for cycle in self.cycles if node in cycle.body]

    def _cycles(self) -> Iterator[Cycle]:
        for node in self.nodes.values():
            for edge in (*(node.loop.back if node.loop else ()), *(e for e in node.edges if e.limit)):
                if self._reaches(edge.to, node.id):
                    yield Cycle(node.id, frozenset(self._body(node.id, edge.to)))

    def _body(self, source: str, header: str) -> set[str]:
        """Everything that leads to the looping node without passing the loop's first node."""
        body, left = {header}, [source]
        while left:
            name = left.pop()
            if name not in body:
                body.add(name)
                left.extend(self._sources[name])
        return body

    def _reaches(self, start: str, goal: str) -> bool:
        seen, left = set(), [start]
        while left:
            name = left.pop()
            if name == goal:
                return True
            if name not in seen:
                seen.add(name)
                left.extend(edge.to for edge in self.nodes[name].ways())
        return False

    def _entries(self, written: str | list[str] | None) -> list[str]:
        if written:
            return [written] if isinstance(written, str) else written
        return [name for name in self.nodes if not self._led_to(name)]

    def _led_to(self, name: str) -> bool:
        return any(
            edge.to == name and not self._goes_back(edge) for node in self.nodes.values() for edge in node.ways()
        )

    def _goes_back(self, edge: Edge) -> bool:
        return edge.limit is not None and any(edge.source == c.source and edge.to in c.body for c in self.cycles)

    def _predecessors(self, node: Node) -> tuple[str, ...]:
        others = [
            other.id
            for other in self.nodes.values()
            if any(edge.to == node.id and not self._goes_back(edge) for edge in other.ways())
        ]
        return tuple(dict.fromkeys((*node.dependencies, *others)))

    def _find_joins(self) -> None:
        """Follows every way with the groups that are open on it, so that an unnamed join finds the innermost."""
        seen: set[tuple[str, tuple[str, ...]]] = set()
        left: list[tuple[str, tuple[str, ...]]] = [(name, ()) for name in self.entries]
        while left:
            place = left.pop()
            if place in seen:
                continue
            seen.add(place)
            name, stack = place
            for edge in self.nodes[name].ways():
                after = (*stack, edge.group) if edge.group and edge.group not in stack else stack
                if edge.join and after and edge.join.group in {None, after[-1]}:
                    self.joins.setdefault(after[-1], (edge.join, edge.to))
                    after = after[:-1]
                left.append((edge.to, after))
