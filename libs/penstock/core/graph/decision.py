"""One decision under way: the state, the events so far, and the tokens still to be looked at.

Every event is applied as it is emitted, so that what follows sees it. The parts of the decider are functions of
this; it holds no rule of its own.
"""

from __future__ import annotations

from collections import deque
from typing import Any, TypeAlias

from penstock.core.graph.evolve import HANDLERS
from penstock.core.graph.fault import NodeFault
from penstock.core.graph.program import NO_VERDICTS, Expression, Node, Program, Test
from penstock.core.graph.reference import holds_reference, load
from penstock.core.graph.state import Done, Scope, State, Token
from penstock.core.graph.view import variables
from penstock.core.model.decider import NO_FACTS, Facts, Memo
from penstock.core.model.evaluate import Failure, Verdicts
from penstock.core.model.events import Event, Fault, Purpose, TimerCleared, TimerSet
from penstock.core.model.graph import NodeRule
from penstock.core.model.time import Instant

Json: TypeAlias = Any


QUEUE_TIMEOUT = 300_000
"""Milliseconds that a task may wait for a worker, unless its node says otherwise."""

TASK_MARGIN = 5_000
"""How much longer than the worker the run itself waits, in milliseconds."""


class Decision:
    def __init__(self, program: Program, state: State, now: Instant, facts: Facts = NO_FACTS) -> None:
        self.program = program
        self.state = state
        self.now = now
        self.facts = facts
        self.memos: set[str] = set()
        """Keys that have to be looked up before this can be decided."""
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
        HANDLERS[type(event)](self.state, event, self.now)

    def node(self, token: Token) -> Node:
        return self.program.nodes[token.node]

    def begun(self, token: Token) -> NodeRule:
        """The rule of what is under way for the token: its node may have been patched since."""
        return self.program.begun_by(self.state, token) if self.state.begun else self.node(token).rule

    def scope(self, token: Token) -> Scope:
        return self.state.scopes[token.scope]

    def new_token(self) -> int:
        return self.state.next_token

    # -- expressions

    def value(self, expression: Expression, token: Token, code: str, **more: Json) -> Json:
        """`more` are variables beside those that the token sees."""
        return self.unwrap(expression.evaluate(self.seen(expression, token, more)), code)

    def test(self, test: Test, token: Token, verdicts: Verdicts = NO_VERDICTS) -> bool:
        return bool(self.unwrap(test.evaluate(self.seen(test, token, {}), verdicts), "CONDITION_ERROR"))

    def seen(self, expression: Expression | Test, token: Token, more: dict[str, Json]) -> dict[str, Json]:
        found = variables(self.state, token, expression.roots, self.now, self.node(token).loops) | more
        return self.loaded(expression, found, more)

    def loaded(
        self, expression: Expression | Test, found: dict[str, Json], new: dict[str, Json] | None = None
    ) -> dict[str, Json]:
        """With references replaced by what they stand for, wherever the expression reads into it.

        `new` are values that the run has not recorded yet.
        """
        if not self.state.blobs and not (new and holds_reference(new)):
            return found
        return load(found, expression.compiled.reads, self.facts.blobs, whole=not expression.plain)

    def fits(self, schema: Test | None, value: Json) -> bool:
        if schema is None:
            return True
        seen = {"output": value}
        return schema.evaluate(self.loaded(schema, seen, seen)) is True

    def unwrap(self, found: Json | Failure, code: str) -> Json:
        if isinstance(found, Failure):
            raise NodeFault(code, found.message, **{**found.details, "cause": found.code})
        return found

    def recall(self, key: str) -> Memo | None:
        """What the same work put out before, if it is known; the decision is made again once it is looked up."""
        if key not in self.facts.memos:
            self.memos.add(key)
            return None
        return self.facts.memos[key]

    # -- timers

    def set_timer(
        self, due: Instant, purpose: Purpose, *, token: Token | None = None, group: int = 0, undo: Done | None = None
    ) -> None:
        if undo is not None:
            self.emit(TimerSet(f"u{undo.token}.{undo.attempt}.{purpose}", due, purpose, undo=undo.token))
        elif token is not None:
            self.emit(TimerSet(f"t{token.id}.{token.attempt}.{purpose}", due, purpose, token.id))
        else:
            owner = f"g{group}" if group else "run"
            self.emit(TimerSet(f"{owner}.{purpose}", due, purpose, group=group))

    def clear_timers(self, token: Token, *, keep: Purpose | None = None) -> None:
        for name in tuple(token.timers):
            if self.state.timers[name].purpose != keep:
                self.emit(TimerCleared(name))

    def in_ms(self, milliseconds: float) -> Instant:
        return Instant(self.now + round(milliseconds * 1000))
