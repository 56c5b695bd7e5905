"""What expressions see in a scope, and what completions and joins write into it."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.core.model.evaluate import Change, Condition, Failure, InputMapping
from penstock.core.model.evaluate import Path as Read
from penstock.testkit.reference.races import EVERYTHING, Past
from penstock.testkit.reference.scope import Scope
from penstock.testkit.reference.script import Json


class View:
    """The variables of one visit: reading one through an expression is an access to shared data."""

    def __init__(self, scope: Scope, run_input: Json, event: int, past: Past) -> None:
        self.scope = scope
        self.event = event
        self.past = past
        self.own: dict[str, Json] = {"input": run_input}
        """`output`, `loop`, `_branches` where they exist."""
        self.error: Json = None

    def holds(self, condition: Condition) -> bool | Failure:
        return condition.evaluate(self.variables(condition.reads))

    def value(self, mapping: InputMapping) -> Json | Failure:
        return mapping.evaluate(self.variables(mapping.reads))

    def variables(self, reads: Iterable[Read]) -> dict[str, Json]:
        found = dict(self.own)
        for read in reads:
            if read[0] == "state":
                *_, root = self.scope.outward()
                if read[:2] != ("state", "_last_error"):
                    self._note(root, read)
                found["state"] = {**root.data, "_last_error": self.error} if self.error is not None else root.data
            elif read[0] == "nodes":
                known = found.setdefault("nodes", {})
                for name in read[1:2] or self._all_nodes():
                    self._add_node(name, known)
            elif read[0] == "_errors":
                self._add_errors(found)
            elif read[0] == "_branch" and self.scope.parent:
                self._note_branch(read[1:])
                found["_branch"] = self.scope.describe()
        return found

    def _all_nodes(self) -> list[str]:
        return [name for scope in self.scope.outward() for name in scope.outputs]

    def _add_node(self, name: str, known: dict[str, Json]) -> None:
        for scope in self.scope.outward():
            self._note(scope, ("nodes", name))
            if name in scope.outputs:
                known[name] = {"output": scope.outputs[name], "metadata": {}}
                return

    def _add_errors(self, found: dict[str, Json]) -> None:
        found["_errors"] = {}
        for scope in reversed(list(self.scope.outward())):
            self._note(scope, ("_errors",))
            found["_errors"].update(scope.errors)

    def _note_branch(self, fields: Read) -> None:
        """Of a branch only `output` changes."""
        around = list(self.scope.outward())
        while fields[:1] == ("parent",):
            fields, around = fields[1:], around[1:]
        if not fields:
            for scope in around:
                self._note(scope, ("_branch",))
        elif fields[0] == "output" and around:
            self._note(around[0], ("_branch", *fields))

    def _note(self, scope: Scope, location: Read) -> None:
        scope.accesses.read(location, self.event, self.past)


def store(scope: Scope, data: dict[str, Json], changes: tuple[Change, ...], event: int, past: Past) -> None:
    for change in changes:
        kind = ("_branch", "output") if scope.parent else ("state",)
        scope.accesses.write((*kind, *change.path), event, past, seen=True)
    scope.data = data
    scope.written = True


def at_the_end(scope: Scope, run_input: Json) -> View:
    """What the run's `output` sees."""
    return View(scope, run_input, 0, EVERYTHING)
