"""Golden histories: what any release wrote, this code reads, and comes to the same.

When one of these fails, code that was released cannot be trusted with logs that exist. Do not write the files again to
make it pass: give the event a new version and an upcast (`penstock.core.model.upcast`), or decide as before. Only
before a release, or for new features, and with the change read in the diff:

    .venv/bin/python -m tests.histories.record
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, Union

import msgspec
import pytest

from penstock.core.graph.evolve import evolve
from penstock.core.graph.state import State
from penstock.core.model import commands as c
from penstock.core.model.events import Event, RunStarted
from penstock.core.model.time import Instant
from penstock.core.model.upcast import UPCASTS, decode_events
from tests.histories.record import HERE, RUNS, SHAPES, Recorder, summary
from tests.histories.shape import fits, shapes

Json: TypeAlias = Any

ANY_COMMAND = Union[c.COMMANDS]  # type: ignore[valid-type]  # noqa: UP007 - made of a tuple


class Commit(NamedTuple):
    at: Instant
    command: c.Command
    events: list[Event]


class History(NamedTuple):
    definition: Json
    input: Json
    commits: list[Commit]
    came_to: Json


def load(path: Path) -> History:
    head, *lines, end = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    commits = [
        Commit(
            Instant(line["at"]),
            msgspec.convert(line["command"], ANY_COMMAND),
            decode_events(map(msgspec.msgpack.encode, line["events"])),
        )
        for line in lines
    ]
    return History(head["definition"], head["input"], commits, end["came_to"])


HISTORIES = sorted(HERE.rglob("*.jsonl"))
each_history = pytest.mark.parametrize("path", HISTORIES, ids=lambda path: str(path.relative_to(HERE)))


def test_every_run_has_its_history() -> None:
    assert {path.stem for path in HISTORIES} == {make.__name__ for make in RUNS}


@each_history
def test_the_events_come_to_the_same(path: Path) -> None:
    history, state = load(path), State()
    for commit in history.commits:
        for event in commit.events:
            evolve(state, event, commit.at)
    assert summary(state) == history.came_to


@each_history
def test_the_same_commands_are_decided_the_same(path: Path) -> None:
    history = load(path)
    run = Recorder(history.definition, history.input)
    for commit in history.commits:
        run.now = commit.at
        if not isinstance(commit.command, c.Continue):  # a run gives itself that one
            run.send(commit.command)
    decided = [Commit(at, command, events) for at, command, events in run.commits()]
    assert list(map(without_engine, decided)) == list(map(without_engine, history.commits))
    assert summary(run.state) == history.came_to


def without_engine(commit: Commit) -> Commit:
    """What evaluates conditions is recorded, and differs from machine to machine; the rest must not."""
    events = [
        msgspec.structs.replace(event, engine="") if isinstance(event, RunStarted) else event for event in commit.events
    ]
    return commit._replace(events=events)


# -- versions

WRITTEN: dict[str, Json] = msgspec.json.decode(SHAPES.read_bytes())


@pytest.mark.parametrize("tag", WRITTEN)
def test_what_was_written_under_a_tag_can_be_read_under_it(tag: str) -> None:
    """A change that does not fit needs `@2` in the tag, and an upcast from what was there before."""
    now = shapes()
    assert tag in UPCASTS or (tag in now and fits(WRITTEN[tag], now[tag]))


STRUCT: Json = {"struct": {"a": ["int", True], "b": ["str", False]}, "ordered": False}
CHANGES: dict[str, tuple[Json, Json, bool]] = {
    "nothing": (STRUCT, STRUCT, True),
    "a field with a default": (STRUCT, {**STRUCT, "struct": {**STRUCT["struct"], "c": ["int", False]}}, True),
    "a field without": (STRUCT, {**STRUCT, "struct": {**STRUCT["struct"], "c": ["int", True]}}, False),
    "a field gone": (STRUCT, {**STRUCT, "struct": {"a": ["int", True]}}, False),
    "a default given": (STRUCT, {**STRUCT, "struct": {"a": ["int", False], "b": ["str", False]}}, True),
    "a default taken": (STRUCT, {**STRUCT, "struct": {"a": ["int", True], "b": ["str", True]}}, False),
    "another type": (STRUCT, {**STRUCT, "struct": {"a": ["str", True], "b": ["str", False]}}, False),
    "order counts": (
        {"struct": {"a": ["int", False]}, "ordered": True},
        {"struct": {"b": ["int", False], "a": ["int", False]}, "ordered": True},
        False,
    ),
    "a choice more": ({"literal": ["a"]}, {"literal": ["a", "b"]}, True),
    "a choice less": ({"literal": ["a", "b"]}, {"literal": ["a"]}, False),
    "none as well": ("int", {"any_of": ["int", "none"]}, True),
    "no longer none": ({"any_of": ["int", "none"]}, "int", False),
    "anything": ({"list": "int"}, "any", True),
    "not anything": ("any", "int", False),
    "other items": ({"list": "int"}, {"list": "str"}, False),
}


@pytest.mark.parametrize(("old", "new", "verdict"), CHANGES.values(), ids=CHANGES.keys())
def test_which_changes_need_a_new_version(old: Json, new: Json, verdict: bool) -> None:
    assert fits(old, new) is verdict
