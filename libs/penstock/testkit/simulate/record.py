"""What the log says, read along as it grows: the run's state from the bytes alone, and what was executed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar

import msgspec

from penstock.core.graph import counter
from penstock.core.graph.state import ROOT, State
from penstock.core.model import events as e
from penstock.core.model.time import Instant
from penstock.testkit.reference import BranchPath, Observed, execution_key
from penstock.testkit.reference.prediction import Key
from penstock.testkit.simulate.problem import Problem


class Place(msgspec.Struct, frozen=True):
    """A visit as the script is asked about it."""

    node: str
    path: BranchPath
    visit: int
    input: Any


class Record:
    def __init__(self) -> None:
        self.state = State()
        self.places: dict[int, Place] = {}
        """By token."""
        self.children: dict[str, tuple[int, int]] = {}
        """Token and attempt."""
        self.executions: Counter[Key] = Counter()
        self.undone: Counter[Key] = Counter()
        self._visits: Counter[tuple[int, str]] = Counter()
        self._paths: dict[int, BranchPath] = {ROOT: ()}
        self._counter = counter.Counter()
        self._answered: set[tuple[int, int]] = set()

    def fold(self, events: list[e.Event], at: Instant) -> None:
        """One commit. Raises `Problem` if the token counter goes astray, or a result counts twice."""
        state, moved, batch = self.state, Counter[str](), list[e.Event]()

        def catch_up() -> None:
            """What is asked about a token is asked before a later event takes it away."""
            for key, delta in counter.operations(state, batch, at):
                moved[key] += delta
            batch.clear()

        for event in events:
            look = self._LOOKS.get(type(event))
            if look is None:
                batch.append(event)
            elif type(event) is e.NodeCompleted:
                if event.token not in self.places:
                    catch_up()
                look(self, event)
                batch.append(event)
            else:
                batch.append(event)
                catch_up()
                look(self, event)
        catch_up()
        for key, delta in moved.items():
            if delta and not self._counter.apply(counter.Operation(key, delta)):
                raise Problem("counter", f"{key} counts twice")
        if not self._counter.value == state.counter == counter.standing(state):
            found = (self._counter.value, state.counter, counter.standing(state))
            raise Problem("counter", f"operations say {found[0]}, the state {found[1]}, what is open {found[2]}")

    def observed(self) -> Observed:
        state = self.state
        code = state.fault.code if state.fault else None
        return Observed(str(state.outcome), code, state.output, state.scopes[ROOT].data, self.executions)

    def _path(self, scope: int) -> BranchPath:
        found = self._paths.get(scope)
        if found is None:
            branch = self.state.scopes[scope]
            group = self.state.groups[branch.group]
            found = self._paths[scope] = (*self._path(group.scope), (group.name, branch.branch))
        return found

    def _begun(self, event: e.NodeDispatched | e.ApprovalRequested | e.SignalAwaited | e.NodeRecalled) -> None:
        if event.token not in self.places:
            token = self.state.tokens[event.token]
            self._execute(event.token, token.node, token.scope, token.given)

    def _child(self, event: e.ChildStarted) -> None:
        token = self.state.tokens[event.token]
        self.children[event.child] = event.token, token.attempt
        if event.token not in self.places:
            self._execute(event.token, token.node, token.scope, token.given)

    def _done(self, event: e.NodeCompleted) -> None:
        """Of a node without outside work, this is all there is; it puts out what it was given."""
        if event.token not in self.places:
            token = self.state.tokens[event.token]
            self._execute(event.token, token.node, token.scope, event.output)
        self._answer(event.token, 0)

    def _failed(self, event: e.TaskFailed) -> None:
        self._answer(event.token, event.fault.attempt)

    def _answer(self, token: int, attempt: int) -> None:
        if (token, attempt) in self._answered:
            raise Problem("twice", f"token {token} has two results for attempt {attempt}")
        self._answered.add((token, attempt))

    def _undo(self, event: e.CompensationStarted) -> None:
        place = self.places[event.token]
        if event.attempt == 1:
            self.undone[execution_key(place.node, place.path, place.input)] += 1

    def _execute(self, token: int, node: str, scope: int, given: Any) -> None:  # noqa: ANN401 - JSON
        path = self._path(scope)
        self._visits[scope, node] += 1
        self.places[token] = Place(node, path, self._visits[scope, node], given)
        self.executions[execution_key(node, path, given)] += 1

    _LOOKS: ClassVar[dict[type[e.Event], Callable[[Any, Any], None]]] = {
        e.NodeCompleted: _done,
        e.TaskFailed: _failed,
        e.NodeDispatched: _begun,
        e.ApprovalRequested: _begun,
        e.SignalAwaited: _begun,
        e.NodeRecalled: _begun,
        e.ChildStarted: _child,
        e.CompensationStarted: _undo,
    }
