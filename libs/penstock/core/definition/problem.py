"""What is wrong with a definition: each problem with its place and a hint, all of them at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from penstock.core.errors import PenstockError

Path: TypeAlias = tuple[str | int, ...]
"""Keys and indices from the top of the definition."""


class Place(NamedTuple):
    """Where a value begins in the text, inside its quotes."""

    line: int
    column: int


Places: TypeAlias = Mapping[Path, Place]


class Code(StrEnum):
    TOO_LARGE = "DEFINITION_TOO_LARGE"
    UNKNOWN_FIELD = "UNKNOWN_FIELD"
    MISSING_FIELD = "MISSING_FIELD"
    WRONG_VALUE = "WRONG_VALUE"
    SPELLED_TWICE = "SPELLED_TWICE"
    MISPLACED = "MISPLACED"
    DUPLICATE_ID = "DUPLICATE_ID"
    UNKNOWN_NODE = "UNKNOWN_NODE"
    UNREACHABLE_NODE = "UNREACHABLE_NODE"
    NO_ENTRY = "NO_ENTRY"
    NO_TERMINAL = "NO_TERMINAL"
    CYCLE_WITHOUT_LIMIT = "CYCLE_WITHOUT_LIMIT"
    LOOP_NOT_BACK = "LOOP_NOT_BACK"
    LIMIT_WITHOUT_CYCLE = "LIMIT_WITHOUT_CYCLE"
    ROUTED_TWICE = "ROUTED_TWICE"
    ROUTE_DEAD = "ROUTE_DEAD"
    GROUP_NOT_OPENED = "GROUP_NOT_OPENED"
    GROUP_JOINED_TWICE = "GROUP_JOINED_TWICE"
    JOIN_SKIPS_GROUP = "JOIN_SKIPS_GROUP"
    JOIN_AMBIGUOUS = "JOIN_AMBIGUOUS"
    JOIN_NEVER_MET = "JOIN_NEVER_MET"
    ARRIVALS_NOT_JOINED = "ARRIVALS_NOT_JOINED"
    DEPENDENCY_UNDECLARED = "DEPENDENCY_UNDECLARED"
    ROOT_UNAVAILABLE = "ROOT_UNAVAILABLE"
    READ_UNKNOWN = "READ_UNKNOWN"
    READ_UNWRITTEN = "READ_UNWRITTEN"
    SCHEMA_INVALID = "SCHEMA_INVALID"
    SCHEMA_FORBIDS = "SCHEMA_FORBIDS"
    CONFIG_REFUSED = "CONFIG_REFUSED"
    LIMIT_EXCEEDED = "LIMIT_EXCEEDED"
    QUEUE_DEFAULT = "QUEUE_DEFAULT"


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    severity: Literal["error", "warning"]
    code: str
    path: str
    """As a JSON pointer, with ids in place of indices."""
    message: str
    hint: str = ""
    line: int | None = None
    column: int | None = None


class DefinitionError(PenstockError):
    """A definition cannot be used: {reason}."""

    code = "DEFINITION"


class DefinitionInvalid(DefinitionError):
    """The definition has {count} errors, the first {first}.

    Run `penstock workflow check` for all of them with their lines.
    """

    code = "DEFINITION_INVALID"


_SUGGESTIONS: Final = 20
_CANDIDATES: Final = 500
_LENGTHS: Final = 4
"""Looking for what was meant costs time per known name: so often, among so many, of nearly the same length."""


class Problems:
    """Collects while a definition is checked. Paths are in canonical spelling; they are reported as written."""

    def __init__(self, definition: Any, places: Places, spellings: Mapping[str, tuple[str, ...]]) -> None:  # noqa: ANN401 - any JSON
        self._definition = definition
        self._places = places
        self._spellings = spellings
        self._suggestions = _SUGGESTIONS
        self.found: list[Problem] = []

    @property
    def errors(self) -> int:
        return sum(problem.severity == "error" for problem in self.found)

    def error(self, code: str, path: Path, message: str, hint: str = "", at: Place | None = None) -> None:
        self._add("error", code, path, message, hint, at)

    def warn(self, code: str, path: Path, message: str, hint: str = "") -> None:
        self._add("warning", code, path, message, hint, None)

    def did_you_mean(self, name: str, known: Iterable[str], otherwise: str = "") -> str:
        if self._suggestions:
            self._suggestions -= 1
            similar = [other for other in known if abs(len(other) - len(name)) <= _LENGTHS]
            similar.sort(key=lambda other: other[:2] != name[:2])
            close = get_close_matches(name, similar[:_CANDIDATES], n=1)
            if close:
                return f"did you mean `{close[0]}`?"
        return otherwise

    def _add(
        self, severity: Literal["error", "warning"], code: str, path: Path, message: str, hint: str, at: Place | None
    ) -> None:
        written, pointer = self._written(path)
        place = self._places.get(written)
        while place is None and written:
            written, at = written[:-1], None
            place = self._places.get(written)
        if place and at:
            first = at.line == 1
            place = Place(place.line + at.line - 1, place.column + at.column - 1 if first else at.column)
        line, column = place or (None, None)
        self.found.append(Problem(severity, str(code), pointer, message, hint, line, column))

    def _written(self, path: Path) -> tuple[Path, str]:
        """The path as the author spelled it, and as a pointer."""
        value, written, pointer = self._definition, [], ""
        for step in path:
            key = step
            if isinstance(value, dict) and step not in value:
                key = next((name for name in self._spellings.get(str(step), ()) if name in value), step)
            written.append(key)
            value = _inside(value, key)
            shown = _id(value) if isinstance(key, int) else None
            pointer += "/" + str(shown or key).replace("~", "~0").replace("/", "~1")
        return tuple(written), pointer or "/"


def _inside(value: Any, key: str | int) -> Any:  # noqa: ANN401 - any JSON
    try:
        return value[key]
    except (KeyError, IndexError, TypeError):
        return None


def _id(value: Any) -> str | None:  # noqa: ANN401 - any JSON
    found = (value.get("id") or value.get("node_id")) if isinstance(value, dict) else None
    return found if isinstance(found, str) else None
