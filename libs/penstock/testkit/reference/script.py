"""What the outside world answers in a predicted run: a pure function, asked once per attempt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

Json: TypeAlias = Any

BranchPath: TypeAlias = tuple[tuple[str, int], ...]
"""The branches around a visit as (group, index), the outermost first."""


class Asked(Struct, frozen=True):
    """One attempt at one visit."""

    node: str
    path: BranchPath
    visit: int
    """From 1, counted per node in its scope."""
    attempt: int
    input: Json


class Completed(Struct, frozen=True):
    output: Json = None
    next_nodes: tuple[str, ...] = ()
    """What an agent chose."""


class Failed(Struct, frozen=True):
    code: str
    retryable: bool = False


class Decided(Struct, frozen=True):
    """What a person answered at a human node."""

    approved: bool


Answer: TypeAlias = Completed | Failed | Decided


class Script(Protocol):
    @property
    def counts_visits(self) -> bool:
        """Answers depend on `Asked.visit`: then two visits of one node that nothing orders are a race."""

    def __call__(self, asked: Asked) -> Answer: ...


class ByNode:
    """A script as a table: per node one answer, or answers by attempt (the last one repeats). Others echo."""

    counts_visits = False

    def __init__(self, answers: Mapping[str, Answer | list[Answer]] | None = None) -> None:
        self._answers = answers or {}

    def __call__(self, asked: Asked) -> Answer:
        answer = self._answers.get(asked.node, Completed(asked.input))
        return answer[min(asked.attempt, len(answer)) - 1] if isinstance(answer, list) else answer
