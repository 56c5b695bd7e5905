"""One decision under way: the state, the events so far, and the tokens still to be looked at.

Every event is applied as it is emitted, so that what follows sees it. The parts of the decider are functions of
this; it holds no rule of its own.
"""

from __future__ import annotations

from collections import deque
from typing import Any, TypeAlias

from penstock.core.graph.evolve import evolve
from penstock.core.graph.program import Expression, Node, Program, Test
from penstock.core.graph.state import Scope, State, Token
from penstock.core.graph.view import variables
from penstock.core.model.evaluate import Failure
from penstock.core.model.events import Event, Fault, Purpose, TimerCleared, TimerSet
from penstock.core.model.time import Instant

Json: TypeAlias = Any


class NodeFault(Exception):
    """The node just completed, or about to run, fails: routing, schema, mapping or limit."""

    def __init__(self, code: str, message: str, *, retryable: bool = False, **details: Json) -> None:
        super().__init__(code)
        self.code, self.message, self.retryable, self.details = code, message, retryable, details

    def fault(self, token: Token) -> Fault:
        return Fault(self.code, self.message, token.node, token.attempt, self.retryable, self.details)


class Decision:
    def __init__(self, program: Program, state: State, now: Instant) -> None:
        self.program = program
        self.state = state
        self.now = now
        self.events: list[Event] = []
        self.ready: deque[int] = deque()
        """Tokens that stand on a node and have not begun it."""
        self.opened: list[int] = []
        """Groups whose first consequences are still to be drawn."""
        self.failed: list[tuple[int, Fault]] = []
        """Tokens that must fail where they stand."""
        self.broken: list[tuple[int, Fault]] = []
        """Scopes that fail as a whole."""
        self.failing: dict[int, Fault] = {}
        """Branches that are being taken down, and why."""
        self.touched: list[int] = []
        """Scopes in which something ended: they may be done, or stuck."""

    def emit(self, event: Event) -> None:
        self.events.append(event)
        evolve(self.state, event, self.now)

    def node(self, token: Token) -> Node:
        return self.program.nodes[token.node]

    def scope(self, token: Token) -> Scope:
        return self.state.scopes[token.scope]

    def new_token(self) -> int:
        return self.state.next_token

    # -- expressions

    def value(self, expression: Expression, token: Token, code: str) -> Json:
        found = expression.evaluate(variables(self.state, token, expression.roots, self.now, self.node(token).loops))
        return self._unwrap(found, code)

    def test(self, test: Test, token: Token) -> bool:
        verdict = test.evaluate(variables(self.state, token, test.roots, self.now, self.node(token).loops))
        return bool(self._unwrap(verdict, "CONDITION_ERROR"))

    def _unwrap(self, found: Json | Failure, code: str) -> Json:
        if isinstance(found, Failure):
            raise NodeFault(code, found.message, cause=found.code, **found.details)
        return found

    # -- timers

    def set_timer(self, due: Instant, purpose: Purpose, *, token: Token | None = None, group: int = 0) -> str:
        owner = f"t{token.id}.{token.attempt}" if token else f"g{group}" if group else "run"
        name = f"{owner}.{purpose}"
        self.emit(TimerSet(name, due, purpose, token.id if token else 0, group))
        return name

    def clear_timers(self, token: Token, *, keep: Purpose | None = None) -> None:
        for name in tuple(token.timers):
            if self.state.timers[name].purpose != keep:
                self.emit(TimerCleared(name))

    def in_ms(self, milliseconds: float) -> Instant:
        return Instant(self.now + round(milliseconds * 1000))
