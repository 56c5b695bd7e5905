"""Programs by definition: compiled once, kept while they are used.

A run names the definition it is pinned to, and holds the patches that its revisions are made of; what it goes by is
the same program for every run at the same revision. A program is a cache: it can always be made again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from penstock.core.definition import DefinitionInvalid, NodeType, check
from penstock.core.definition.patch import apply
from penstock.core.errors import PenstockError
from penstock.core.graph.program import Program, Source
from penstock.core.graph.state import State
from penstock.core.model.decider import Missing, Need
from penstock.core.model.evaluate import Evaluator

Json: TypeAlias = Any

CAPACITY: Final = 100_000
"""Nodes of all programs that are kept."""


class DefinitionMissing(PenstockError):
    """There is no definition {key}.

    Register it again: a definition is found by its content, and runs that are pinned to it go on.
    """

    code = "DEFINITION_MISSING"


class RevisionMismatch(PenstockError):
    """Revision {revision} of the run is {expected}, but its patches lead to {found}.

    Another release of Penstock applied them: go on with that one, and report it.
    """

    code = "REVISION_MISMATCH"


class Programs:
    def __init__(
        self, evaluator: Evaluator, types: Mapping[str, NodeType] | None = None, *, capacity: int = CAPACITY
    ) -> None:
        self._evaluator = evaluator
        self._types = types or {}
        self._capacity = capacity
        self._kept: OrderedDict[str, Program] = OrderedDict()
        self._nodes = 0

    def find(self, state: State, definitions: Mapping[str, Json]) -> Program:
        """What the run goes by. Raises `Missing` if its definition has to be fetched."""
        if not state.definition:
            return self.pinned(state.graph, definitions)
        program = self._used(state.definition)
        return program or self._patched(state, definitions)

    def pinned(self, key: str, definitions: Mapping[str, Json]) -> Program:
        program = self._used(key)
        if program is None:
            program = self.compile(self._definition(key, definitions))
            self._keep(key, program)
        return program

    def compile(self, definition: Json) -> Program:
        """Raises `DefinitionInvalid`. Kept by its content hash."""
        checked = check(definition, evaluator=self._evaluator, types=self._types)
        if checked.graph is None:
            first = checked.errors[0]
            raise DefinitionInvalid(
                count=len(checked.errors), first=f"at {first.path}: {first.message}", problems=checked.problems
            )
        program = Program(checked.graph, self._evaluator, Source(definition, checked.hash, checked.problems, self))
        self._keep(checked.hash, program)
        return program

    def known(self, key: str) -> Json | None:
        program = self._kept.get(key)
        return program.source.definition if program is not None and program.source is not None else None

    def _patched(self, state: State, definitions: Mapping[str, Json]) -> Program:
        definition = self._definition(state.graph, definitions)
        for operations in state.patches:
            definition = apply(definition, operations)
        program = self.compile(definition)
        if program.source is None or program.source.hash != state.definition:
            found = program.source.hash if program.source else ""
            raise RevisionMismatch(revision=state.revision, expected=state.definition, found=found)
        return program

    def _definition(self, key: str, definitions: Mapping[str, Json]) -> Json:
        found = definitions[key] if key in definitions else self.known(key)
        if found is None and key not in definitions:
            raise Missing(Need(definitions=frozenset({key})))
        if found is None:
            raise DefinitionMissing(key=key)
        return found

    def _used(self, key: str) -> Program | None:
        program = self._kept.get(key)
        if program is not None:
            self._kept.move_to_end(key)
        return program

    def _keep(self, key: str, program: Program) -> None:
        """The least recently used go first; the last one stays, however large it is."""
        self._nodes += len(program.nodes) - len(self._kept[key].nodes if key in self._kept else ())
        self._kept[key] = program
        self._kept.move_to_end(key)
        while self._nodes > self._capacity and len(self._kept) > 1:
            self._nodes -= len(self._kept.popitem(last=False)[1].nodes)
