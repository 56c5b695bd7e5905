"""Named joins: nodes that wait for all their predecessors, wave by wave, and what becomes of those that never come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.testkit.reference.scope import Arrival, Fault, Scope, Token, Wave
from penstock.testkit.reference.shape import Node

if TYPE_CHECKING:
    from penstock.testkit.reference.interpret import Run


class NamedJoins:
    def __init__(self, run: Run) -> None:
        self._run = run

    def arrive(self, scope: Scope, node: Node, arrival: Arrival, event: int) -> None:
        counts = []
        for cycle in self._run.graph.cycles_around(node.id):
            scope.accesses.read(("loop", cycle.source), event, arrival.past)
            counts.append(scope.counts.get(cycle.source, 0))
        place = ("arrivals", node.id, *map(str, counts), arrival.source)
        scope.accesses.write(place, event, arrival.past, seen=True)
        waves = scope.waves.setdefault((node.id, tuple(counts)), [])
        wave = next((wave for wave in waves if arrival.source not in wave.arrived), None)
        if wave is None:
            wave = Wave()
            waves.append(wave)
        wave.arrived[arrival.source] = arrival
        if wave.arrived.keys() >= set(self._run.graph.predecessors[node.id]):
            waves.remove(wave)
            scope.ready.append(self._token(node, wave))

    def wake(self, scope: Scope) -> bool:
        """Decides the waves of the first node that waits in a scope where nothing moves. False if none waits."""
        waiting = sorted({name for (name, _), waves in scope.waves.items() if waves}, key=self._order)
        if not waiting:
            return False
        if len(waiting) > 1:
            self._run.races.report(
                f"{' and '.join(waiting)} can never fire: the rules do not say which is decided first"
            )
        node = self._run.graph.nodes[waiting[0]]
        past = scope.events & ~self._run.doomed
        for (name, _), waves in scope.waves.items():
            if name == node.id:
                for wave in waves:
                    token = self._token(node, wave)
                    token.past |= past
                    token.fault = None if node.proceeds else Fault("JOIN_UNREACHABLE", node.id, token.past)
                    scope.ready.append(token)
                waves.clear()
        return True

    def _token(self, node: Node, wave: Wave) -> Token:
        order = self._run.graph.predecessors[node.id]
        past = 0
        for arrival in wave.arrived.values():
            past |= arrival.past
        return Token(node.id, {name: wave.arrived[name].payload for name in order if name in wave.arrived}, past)

    def _order(self, name: str) -> int:
        return self._run.graph.nodes[name].order
