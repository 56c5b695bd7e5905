"""Scopes and tokens: who holds which data, and where a visit stands."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from msgspec import Struct, field

from penstock.testkit.reference.races import Accesses, Past, Races
from penstock.testkit.reference.script import BranchPath, Json


class Fault(Struct, frozen=True):
    """A failure that nobody has caught yet. `code` None: the rules give it none."""

    code: str | None
    node: str
    past: Past
    attempt: int = 1
    retryable: bool = False
    cause: Fault | None = None

    @property
    def codes(self) -> tuple[str | None, ...]:
        return (self.code, *(self.cause.codes if self.cause else ()))

    def as_data(self) -> Json:
        """`_last_error`, without the message: the rules do not say its words."""
        return {
            "code": self.code,
            "message": "",
            "node": self.node,
            "attempt": self.attempt,
            "retryable": self.retryable,
            "details": {},
            "cause": self.cause and self.cause.as_data(),
        }


class Token(Struct):
    node: str
    payload: Json
    past: Past
    error: Json = None
    """`_last_error`."""
    fault: Fault | None = None
    """The join that leads here failed: the node fails without running."""


class Arrival(Struct, frozen=True):
    source: str
    payload: Json
    past: Past


class Wave(Struct):
    """Arrivals at a named join, by predecessor."""

    arrived: dict[str, Arrival] = field(default_factory=dict)


class Item(Struct, frozen=True):
    """What a branch is opened with."""

    payload: Json
    target: str
    value: Json = None
    name: str | None = None


class Scope:
    """The root, or one branch of a group instance."""

    def __init__(self, races: Races, parent: Scope | None = None, branch: Json = None, item: str | None = None) -> None:
        self.parent = parent
        self.branch: Json = branch or {}
        self.item_name = item
        self.path: BranchPath = (*parent.path, (branch["group"], branch["index"])) if parent else ()
        self.data: dict[str, Json] = {}
        """`state` of the root, `_branch.output` of a branch."""
        self.written = False
        self.outputs: dict[str, Json] = {}
        self.errors: dict[str, Json] = {}
        self.visits: dict[str, int] = {}
        self.counts: dict[str, int] = {}
        """Executions of looping nodes whose loop has not been left."""
        self.ready: deque[Token] = deque()
        self.waves: dict[tuple[str, tuple[int, ...]], list[Wave]] = {}
        self.arrivals: list[Arrival] = []
        self.faults: list[Fault] = []
        self.events: Past = 0
        """Everything that happened here and in the groups inside."""
        self.accesses = Accesses(races)

    @property
    def group(self) -> str | None:
        return self.path[-1][0] if self.path else None

    def outward(self) -> Iterator[Scope]:
        scope: Scope | None = self
        while scope:
            yield scope
            scope = scope.parent

    def describe(self) -> Json:
        """`_branch`."""
        if self.parent is None:
            return None
        named = {self.item_name: self.branch["item"]} if self.item_name else {}
        return {**named, **self.branch, "output": self.data, "parent": self.parent.describe()}
