"""Answers as a file writes them: by node an output, an instruction, or a list of these for one attempt each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from penstock.testkit.workflow.answers import (
    Answer,
    answered,
    approves,
    chooses,
    fails,
    never,
    rejects,
    returns,
    takes,
)
from penstock.testkit.workflow.errors import AnswersUnreadable
from penstock.testkit.workflow.script import Scripted

Json: TypeAlias = Any


class _Word(NamedTuple):
    """An instruction: the fields that it may have, and what it comes to."""

    fields: frozenset[str]
    answer: Callable[[dict[str, Json]], Answer]


def _who(value: Json) -> str:
    return value if isinstance(value, str) else "somebody"


_PERSON = frozenset({"comments", "data"})
_WORDS: dict[str, _Word] = {
    "returns": _Word(frozenset(), lambda said: returns(said["returns"])),
    "fail": _Word(
        frozenset({"message", "retryable"}),
        lambda said: fails(said["fail"], said.get("message", ""), retryable=said.get("retryable", False)),
    ),
    "approve": _Word(
        _PERSON,
        lambda said: approves(_who(said["approve"]), comments=said.get("comments", ""), data=said.get("data")),
    ),
    "reject": _Word(
        _PERSON,
        lambda said: rejects(_who(said["reject"]), comments=said.get("comments", ""), data=said.get("data")),
    ),
    "choose": _Word(frozenset({"output"}), lambda said: chooses(*said["choose"], output=said.get("output"))),
    "takes": _Word(frozenset({"answer"}), lambda said: takes(said["takes"], _answer(said.get("answer"), "answer"))),
    "never": _Word(frozenset(), lambda _: never()),
}


def script_from(scripted: Scripted, written: Json) -> None:
    """Add what a file says. Beside nodes it may have `$any`, and by node `$undo` and `$conditions`."""
    for node, given in _object(written, "the file").items():
        match node:
            case "$any":
                scripted.on_any(_answer(given, node))
            case "$undo":
                for undone, answers in _object(given, node).items():
                    scripted.on_undo(undone, *_answers(answers, f"{node}.{undone}"))
            case "$conditions":
                for asked, verdicts in _object(given, node).items():
                    scripted.on_condition(asked, *_answers(verdicts, f"{node}.{asked}"))
            case _:
                scripted.on(node, *_answers(given, node))


def _answers(given: Json, path: str) -> list[Answer]:
    if not isinstance(given, list):
        return [_answer(given, path)]
    return [_answer(one, f"{path}[{index}]") for index, one in enumerate(given)]


def _answer(given: Json, path: str) -> Answer:
    word = next((word for word in _WORDS if isinstance(given, dict) and word in given), None)
    if word is None:
        return answered(given)
    strange = given.keys() - _WORDS[word].fields - {word}
    if strange:
        reason = f"`{word}` does not go with `{'`, `'.join(sorted(strange))}`"
        raise AnswersUnreadable(path=path, reason=reason)
    try:
        return _WORDS[word].answer(given)
    except (TypeError, ValueError) as error:
        raise AnswersUnreadable(path=path, reason=str(error)) from None


def _object(value: Json, path: str) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise AnswersUnreadable(path=path, reason="it is no object with a field for each node")
    return value
