"""What a decider asks of expressions: the ports it is handed, and the plain data that crosses them.

`core` knows no expression engine. Whoever wires a decider gives it an `Evaluator`; a definition is compiled
once through it, and the compiled parts are evaluated synchronously inside a decision: they are pure and
bounded. The one exception is a condition with `programs`: those run user code, so they go out as a task, and
the verdicts come back as an argument.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NoReturn, Protocol, TypeAlias

import msgspec

from penstock.core.errors import PenstockError

Json: TypeAlias = Any
"""A JSON value as `msgspec` decodes it: dict, list, str, int, float, bool or None."""

Variables: TypeAlias = Mapping[str, Json]
"""`output`, `input`, `state`, `nodes`, `_branch`, `_branches`, `_errors`, `loop`: JSON; `now`: an `Instant`.

A name that does not exist where an expression is evaluated is left out: reading it is a failure.
"""

Path: TypeAlias = tuple[str, ...]
"""A static path from a variable down, as far as it is known without data: `("nodes", "score", "output")`."""


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """An evaluation that gave no result. It is neither true nor false, and says so when asked."""

    code: str
    message: str
    retryable: bool = False
    details: dict[str, Json] = {}

    @classmethod
    def of(cls, error: PenstockError) -> Failure:
        return cls(error.code, error.message, error.retryable, dict(error.attributes))

    def __bool__(self) -> NoReturn:
        msg = f"a failed evaluation is neither true nor false: {self.code}"
        raise TypeError(msg)


class Program(msgspec.Struct, frozen=True):
    """User code inside a condition: a task for the executor, bounded by these limits.

    The code defines `evaluate(output, context)`; `context` is the variable `nodes`.
    """

    id: str
    code: str
    timeout_ms: int
    max_memory_mb: int


Verdicts: TypeAlias = Mapping[str, bool | Failure]
"""What the executor found, by `Program.id`."""


class Condition(Protocol):
    """A compiled condition."""

    @property
    def reads(self) -> frozenset[Path]: ...

    @property
    def programs(self) -> tuple[Program, ...]:
        """Not empty: run these as work first, then evaluate with their verdicts."""

    def evaluate(self, variables: Variables, verdicts: Verdicts = ...) -> bool | Failure: ...


class Change(msgspec.Struct, frozen=True, array_like=True):
    """One write of an output mapping into the scope's data."""

    op: Literal["set", "append", "delete"]
    path: Path
    value: Json = None


class TargetBlocked(PenstockError):
    """The output mapping cannot {op} {target}: {reason}.

    Write to another path, or replace the value in the way first.
    """

    code = "EXPR_TARGET"


class InputMapping(Protocol):
    """A compiled `input` mapping, or any other value built from variables."""

    @property
    def reads(self) -> frozenset[Path]: ...

    def evaluate(self, variables: Variables) -> Json | Failure: ...


class OutputMapping(Protocol):
    """A compiled `output` mapping: what to write, as data; `apply_changes` writes it."""

    @property
    def reads(self) -> frozenset[Path]: ...

    def evaluate(self, variables: Variables) -> tuple[Change, ...] | Failure: ...


class Evaluator(Protocol):
    """Compiles what a definition says. Raises a `PenstockError` naming what is wrong and where."""

    @property
    def engine(self) -> str:
        """Engine and version, recorded in `run.started`: another engine must not continue the run."""

    def condition(self, source: Json) -> Condition: ...

    def input_mapping(self, source: Json) -> InputMapping: ...

    def output_mapping(self, source: Json) -> OutputMapping: ...


def apply_changes(target: Mapping[str, Json], changes: tuple[Change, ...]) -> dict[str, Json] | Failure:
    """A copy of `target` with the changes made; what they do not touch is shared with the original.

    Keys that are added are sorted in: what several ways wrote has the same bytes, whoever came first.
    """
    result = dict(target)
    for change in changes:
        parent: dict[str, Json] = result
        for name in change.path[:-1]:
            child = parent.get(name, {})
            if not isinstance(child, dict) or "$blob" in child:
                return _blocked(change, f"`{name}` is not an object")
            copy = dict(child)
            _put(parent, name, copy)
            parent = copy
        name = change.path[-1]
        if change.op == "set":
            _put(parent, name, change.value)
        elif change.op == "delete":
            parent.pop(name, None)
        elif isinstance(existing := parent.get(name, []), list):
            _put(parent, name, [*existing, change.value])
        else:
            return _blocked(change, f"`{name}` is not a list")
    return result


def _put(parent: dict[str, Json], name: str, value: Json) -> None:
    new = name not in parent
    parent[name] = value
    if new and len(parent) > 1:
        ordered = sorted(parent.items())
        parent.clear()
        parent.update(ordered)


def _blocked(change: Change, reason: str) -> Failure:
    return Failure.of(TargetBlocked(op=change.op, target=".".join(change.path), reason=reason))
