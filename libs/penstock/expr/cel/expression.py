"""A compiled CEL expression: binds variables, runs its engine, gives a verdict or a JSON value."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol, TypeAlias

from penstock.core.model.evaluate import Json, Path, Variables
from penstock.expr.cel.cost import Cost
from penstock.expr.cel.slots import Slots
from penstock.expr.cel.syntax import Node
from penstock.expr.errors import EvaluationError, NotBoolean
from penstock.expr.values import follow, moment, type_name

Bindings: TypeAlias = dict[str, object]
Run: TypeAlias = Callable[[Bindings], object]
"""An engine's program: plain Python values in and out; raises `EvaluationError`."""

_SECOND: Final = timedelta(seconds=1)


class Engine(Protocol):
    """One implementation of CEL."""

    @property
    def name(self) -> str:
        """Name and version, as recorded with every run."""

    def compile(self, source: str, tree: Node) -> Run:
        """Raises `CompileError`. The source is for its errors, the tree for the running: its paths are slots."""


class Expression:
    """What `compile_cel` gives."""

    __slots__ = ("_cost", "_run", "_slots", "path", "reads")

    def __init__(self, run: Run, slots: Slots, reads: frozenset[Path], path: Path | None, cost: Cost | None) -> None:
        self._run = run
        self._slots = slots
        self._cost = cost
        self.reads = reads
        self.path = path
        """Set if the expression is nothing but a path: then no engine is needed to follow it."""

    def verdict(self, variables: Variables) -> bool:
        result = self._evaluate(variables)
        if result is True or result is False:
            return result
        raise NotBoolean(language="CEL", result=type_name(result))

    def value(self, variables: Variables) -> Json:
        if self.path is not None:
            value = follow(variables, self.path, "CEL")
            return _rfc3339(moment(value)) if self.path == ("now",) else value
        return json_value(self._evaluate(variables))

    def _evaluate(self, variables: Variables) -> object:
        if self._cost is not None:
            self._cost.check(variables)
        try:
            return self._run(self._slots.bind(variables))
        except EvaluationError as error:
            raise self._slots.explain(error, variables) from None


def json_value(value: object) -> Json:  # noqa: PLR0911 - one line per type
    """An engine's result as JSON. CEL maps have no order, so objects come out sorted, on every engine alike."""
    match value:
        case None | bool() | int() | str():
            return value
        case float() if math.isfinite(value):
            return value
        case list():
            return [json_value(item) for item in value]
        case dict():
            return {_key(key): json_value(value[key]) for key in sorted(value, key=str)}
        case datetime():
            return _rfc3339(value)
        case timedelta():
            return f"{value / _SECOND:.9f}".rstrip("0").rstrip(".") + "s"
        case bytes() | bytearray():
            return b64encode(value).decode()
        case float():
            raise EvaluationError(language="CEL", reason=f"the result holds {value}, which JSON does not know")
        case _:
            raise EvaluationError(language="CEL", reason="the result is a type, not a value")


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise EvaluationError(language="CEL", reason=f"an object's key is {type_name(key)}, not a string")
    return key


def _rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
