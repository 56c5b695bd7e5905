"""A compiled CEL expression: binds variables, runs its engine, gives a verdict or a JSON value."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol, TypeAlias

from penstock.core.model.evaluate import Json, Path, Variables
from penstock.expr.cel.cost import Cost
from penstock.expr.cel.syntax import Node
from penstock.expr.errors import EvaluationError, NotBoolean
from penstock.expr.values import follow, type_name

Bindings: TypeAlias = dict[str, object]
Run: TypeAlias = Callable[[Bindings], object]
"""An engine's program: plain Python values in and out; raises `EvaluationError`."""

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
LOOP: Final = "lo_p"
"""`loop` is a reserved word of CEL, so the engines see it under a name of the same length."""

_SECOND: Final = timedelta(seconds=1)


class Engine(Protocol):
    """One implementation of CEL."""

    @property
    def name(self) -> str:
        """Name and version, as recorded with every run."""

    def compile(self, source: str, tree: Node) -> Run:
        """Raises `CompileError`; the source has passed our own checks."""


class Expression:
    """What `compile_cel` gives."""

    __slots__ = ("_binds", "_cost", "_now", "_run", "path", "reads")

    def __init__(
        self, run: Run, names: frozenset[str], reads: frozenset[Path], path: Path | None, cost: Cost | None
    ) -> None:
        self._run = run
        self._cost = cost
        self._binds = tuple((_ALIASES.get(name, (name, name))) for name in sorted(names))
        self._now = "now" in names
        self.reads = reads
        self.path = path
        """Set if the expression is nothing but a path: then no engine is needed to follow it."""

    def verdict(self, variables: Variables) -> bool:
        result = self._run(self._bind(variables))
        if result is True or result is False:
            return result
        raise NotBoolean(language="CEL", result=type_name(result))

    def value(self, variables: Variables) -> Json:
        if self.path is not None:
            value = follow(variables, self.path, "CEL")
            return _rfc3339(EPOCH + timedelta(microseconds=value)) if self.path == ("now",) else value
        return json_value(self._run(self._bind(variables)))

    def _bind(self, variables: Variables) -> Bindings:
        try:
            data = {alias: variables[name] for alias, name in self._binds}
        except KeyError as missing:
            raise EvaluationError(language="CEL", reason=f"there is no `{missing.args[0]}` here") from None
        if self._cost is not None:
            self._cost.check(data)
        if self._now:
            data["now"] = EPOCH + timedelta(microseconds=data["now"])
        return data


_ALIASES: Final = {"ctx": ("ctx", "nodes"), "loop": (LOOP, "loop")}


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
