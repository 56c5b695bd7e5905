"""A workflow under test: its definition, who answers by default, and the workflows that it may call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

from penstock.core.definition import NodeType
from penstock.core.graph.migrate import version_key
from penstock.core.graph.programs import Programs
from penstock.core.model import commands as c
from penstock.core.model.decider import Memo
from penstock.core.model.time import SECOND, Instant
from penstock.expr.evaluator import ExpressionEvaluator
from penstock.notation import read_text
from penstock.testkit.workflow.run import Run
from penstock.testkit.workflow.script import Script, Scripted
from penstock.testkit.workflow.world import World

Json: TypeAlias = Any

EPOCH: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""When tested runs start, unless told otherwise: tests give the same every day."""


class Workflow(Scripted):
    """Raises `DefinitionInvalid` with every problem if it is none."""

    def __init__(
        self, definition: Json, *, others: Iterable[Workflow] = (), types: Mapping[str, NodeType] | None = None
    ) -> None:
        self.programs = Programs(ExpressionEvaluator(), types)
        program = self.programs.compile(definition)
        self.name = program.graph.name
        self.version = program.graph.version
        self.input_schema = program.graph.input_schema
        self.hash = program.source.hash if program.source else ""
        self.others = (self, *others)
        """Those that it may call, or migrate to; itself among them."""
        self.definitions: dict[str, Json] = {self.hash: definition}
        for other in self.others[1:]:
            self.definitions |= other.definitions
        self.definitions[version_key(self.name, self.version)] = definition
        self.memos: dict[str, Memo] = {}
        """What memoized nodes of its runs have left."""
        self.script = Script(lambda: frozenset(program.nodes))

    @classmethod
    def from_file(
        cls, path: str | PathLike[str], *, others: Iterable[Workflow] = (), types: Mapping[str, NodeType] | None = None
    ) -> Self:
        return cls.from_text(Path(path).read_text(encoding="utf-8"), others=others, types=types)

    @classmethod
    def from_text(
        cls, text: str, *, others: Iterable[Workflow] = (), types: Mapping[str, NodeType] | None = None
    ) -> Self:
        """YAML, or JSON."""
        return cls(read_text(text).data, others=others, types=types)

    def start(self, input: Json = None, *, at: datetime = EPOCH, run: str = "run") -> Run:  # noqa: A002 - as a definition calls it
        """A new run, with a copy of this script as its own; its first tasks are asked, and not yet answered."""
        world = World(Instant(round(at.timestamp() * SECOND)))
        return Run(self, c.Start(self.name, self.hash, input, "seed", run), world)

    def find(self, name: str, version: str | None) -> Workflow | None:
        """The first of that name, and of that version if one is asked for."""
        named = [other for other in self.others if other.name == name]
        return next((other for other in named if version in {None, other.version, other.hash}), None)
