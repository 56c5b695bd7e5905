"""What the world around a tested run can answer: workers, people, children, and those who send signals."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from penstock.core.definition.duration import milliseconds
from penstock.core.model.graph import NodeRule
from penstock.core.model.time import MILLISECOND

Json: TypeAlias = Any

Kind: TypeAlias = Literal["task", "decision", "child", "signal", "verdict", "undo"]
"""What is asked for: work, somebody's decision, the end of a child run, a signal, a condition's user code, undoing."""


class Ask(Struct, frozen=True):
    """One question of the run to the world."""

    kind: Kind
    node: str
    input: Json
    attempt: int
    rule: NodeRule | None = None
    """None: the node is no longer part of the definition."""
    config: Json = None


class Returned(Struct, frozen=True):
    output: Json = None
    next_nodes: tuple[str, ...] | None = None


class Failed(Struct, frozen=True):
    code: str
    message: str
    retryable: bool = False
    details: dict[str, Json] = {}


class Decided(Struct, frozen=True):
    decision: Literal["approved", "rejected"]
    by: str
    comments: str = ""
    data: Json = None


class Later(Struct, frozen=True):
    microseconds: int
    answer: Answer


class Never(Struct, frozen=True):
    pass


Answer: TypeAlias = Returned | Failed | Decided | Later | Never
Duration: TypeAlias = str | float | timedelta
Given: TypeAlias = Answer | Callable[[Ask], Any] | Json
"""As a script gives it: an answer, a plain value to put out, or a function of the question that gives one of these."""


def returns(output: Json = None) -> Answer:
    """Put out `output`: for a value that is itself a function or an answer, and for reading's sake."""
    return Returned(output)


def fails(code: str, message: str = "", *, retryable: bool = False, **details: Json) -> Answer:
    return Failed(code, message or f"scripted: {code}", retryable, details)


def chooses(*nodes: str, output: Json = None) -> Answer:
    """What an agent answers: the nodes to go to."""
    return Returned(output, nodes)


def approves(by: str = "somebody", *, comments: str = "", data: Json = None) -> Answer:
    return Decided("approved", by, comments, data)


def rejects(by: str = "somebody", *, comments: str = "", data: Json = None) -> Answer:
    return Decided("rejected", by, comments, data)


def takes(duration: Duration, answer: Given = None) -> Answer:
    """Begin now, answer when `duration` has passed."""
    return Later(microseconds(duration), answered(answer))


def never() -> Answer:
    """Begin, and be heard of no more: what time limits are for."""
    return Never()


def answered(given: Given) -> Answer:
    """A plain value is what is put out."""
    return given if isinstance(given, Answer) else Returned(given)


def microseconds(duration: Duration) -> int:
    """Of `2d`, of seconds, or of a `timedelta`."""
    if isinstance(duration, timedelta):
        return duration // timedelta(microseconds=1)
    try:
        return milliseconds(duration) * MILLISECOND
    except (KeyError, ValueError):
        msg = f"{duration!r} is no duration: write 500ms, 30s, 5m, 48h, 7d, or a number of seconds"
        raise ValueError(msg) from None
