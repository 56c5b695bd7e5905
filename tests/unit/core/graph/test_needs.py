"""What a decision needs from outside: results of the same work done before, and values that are only references."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.graph.decide import decide
from penstock.core.graph.effects import effects
from penstock.core.graph.memo import memo_key
from penstock.core.model import commands as c
from penstock.core.model import effects as f
from penstock.core.model import events as e
from penstock.core.model.decider import Memo, Missing, Need
from penstock.core.model.evaluate import Failure
from tests.unit.core.graph.drive import Drive, graph

Json = Any
REF = {"$blob": "sha256:1", "size": 100_000}


def task(name: str, **more: Json) -> dict[str, Json]:
    return {"id": name, "type": "task", "queue": "q", **more}


def saved(run: Drive, command: c.Command) -> list[f.SaveMemo]:
    state = run.rebuilt()
    events = decide(run.program, state, command, run.now)
    return [effect for effect in effects(run.program, state, events) if isinstance(effect, f.SaveMemo)]


# -- memos


def memoized(given: Json = None, **more: Json) -> Drive:
    nodes: list[Json] = [task("a", memoize=True, config={"x": 1}, **more), "b"]
    return Drive(graph(*nodes, transitions=[{"from": "a", "to": "b"}]), given)


def test_work_done_before_is_not_done_again() -> None:
    run = memoized({"n": 1})
    key = memo_key(run.program.nodes["a"].rule, {"n": 1})
    run.memos[key] = Memo({"found": True})
    run.start()
    assert [found.node for found in run.open()] == ["b"]
    assert run.open()[0].input == {"found": True}
    assert [event.memo for event, _ in run.log if isinstance(event, e.NodeRecalled)] == [key]


def test_work_that_is_new_is_looked_up_once_done_and_left_for_others() -> None:
    run = memoized({"n": 1}).start()
    (need,) = run.needed
    assert [found.node for found in run.open()] == ["a"]
    result = c.TaskResult(1, 1, run.open()[0].nonce, "completed", "done")
    assert saved(run, result) == [f.SaveMemo(next(iter(need.memos)), "done")]


def test_a_null_that_was_left_is_a_result() -> None:
    run = memoized()
    run.memos[memo_key(run.program.nodes["a"].rule, None)] = Memo(None)
    assert [found.node for found in run.start().open()] == ["b"]


@pytest.mark.parametrize(
    ("change", "same"),
    [({}, True), ({"id": "z"}, True), ({"config": {"x": 2}}, False), ({"type": "http"}, False)],
    ids=["nothing", "another name", "another config", "another type"],
)
def test_the_key_is_what_is_done_and_what_was_given(change: dict[str, Json], *, same: bool) -> None:
    before = Drive(graph(task("a", memoize=True, config={"x": 1}))).program.nodes["a"].rule
    after = {**task("a", memoize=True, config={"x": 1}), **change}
    rule = Drive(graph(after)).program.nodes[after["id"]].rule
    assert (memo_key(rule, 1) == memo_key(before, 1)) is same
    assert memo_key(rule, 1) != memo_key(rule, 2)
    assert memo_key(rule, {"a": 1, "b": 2}) == memo_key(rule, {"b": 2, "a": 1})


def test_the_memos_of_many_branches_are_asked_for_together() -> None:
    nodes: list[Json] = ["s", task("a", memoize=True)]
    run = Drive(graph(*nodes, transitions=[{"from": "s", "to": "a", "foreach": "output"}])).start()
    run.complete("s", list(range(50)))
    assert [len(need.memos) for need in run.needed] == [50]


# -- references


def test_a_reference_that_is_only_passed_on_stays_one() -> None:
    ways = [{"from": "a", "to": "b"}]
    nodes: list[Json] = ["a", task("b", input={"doc": "nodes.a.output", "who": "input.name"})]
    run = Drive(graph(*nodes, transitions=ways), {"name": "ann"}).start().complete("a", REF)
    assert run.open("b")[0].input == {"doc": REF, "who": "ann"}
    assert run.needed == []


READS: dict[str, dict[str, Json]] = {
    "a condition": {"ways": [{"from": "a", "to": "b", "when": "output.score > 1"}]},
    "a condition on the whole": {"ways": [{"from": "a", "to": "b", "when": "size(output) == 2"}]},
    "a schema": {"node": {"output_schema": {"type": "object", "required": ["score"]}}},
    "a path into it": {"next": {"input": {"x": "nodes.a.output.score"}}},
    "an expression on it": {"next": {"input": {"x": "size(nodes.a.output)"}}},
    "an output mapping": {"node": {"output": {"x": "output.score + 1"}}},
    "a list of items": {"ways": [{"from": "a", "to": "b", "foreach": "output.items"}]},
}


@pytest.mark.parametrize("case", READS)
def test_whatever_reads_into_a_reference_needs_what_it_stands_for(case: str) -> None:
    given = READS[case]
    nodes = [task("a", **given.get("node", {})), task("b", **given.get("next", {}))]
    run = Drive(graph(*nodes, transitions=given.get("ways", [{"from": "a", "to": "b"}]))).start()
    answer = c.TaskResult(1, 1, run.open()[0].nonce, "completed", REF)
    with pytest.raises(Missing) as missing:
        run.send(answer)
    assert missing.value.need == Need(blobs=frozenset({"sha256:1"}))
    run.blobs["sha256:1"] = {"score": 5, "items": [1]}
    run.send(answer)
    assert [found.node for found in run.open()] == ["b"]


def test_references_inside_a_merged_list_are_loaded_where_they_are_read() -> None:
    ways = [
        {"from": "s", "to": "a", "group": "g", "spawn": 2},
        {"from": "a", "to": "j", "synchronize": {"group": "g", "merge": {"target": "all"}}},
        {"from": "j", "to": "z", "when": "state.all[1].score == 5"},
    ]
    run = Drive(graph("s", "a", "j", "z", transitions=ways)).start().complete("s")
    run.complete("a", {"score": 1}).complete("a", REF)
    run.blobs["sha256:1"] = {"score": 5}
    assert [found.node for found in run.complete("j").open()] == ["z"]


@pytest.mark.parametrize(("strategy", "expected"), [("merge_object", {"a": 1, "b": 2}), ("concat", ["x", "y"])])
def test_a_merge_that_looks_into_values_loads_them(strategy: str, expected: Json) -> None:
    sync = {"group": "g", "merge": strategy}
    ways = [{"from": "s", "to": "a", "group": "g", "spawn": 2}, {"from": "a", "to": "j", "synchronize": sync}]
    run = Drive(graph("s", "a", "j", transitions=ways)).start().complete("s")
    run.blobs["sha256:1"] = {"b": 2} if strategy == "merge_object" else ["y"]
    run.complete("a", {"a": 1} if strategy == "merge_object" else ["x"]).complete("a", REF)
    assert run.open("j")[0].input == expected


def test_a_reference_that_cannot_be_read_fails_the_node_that_reads_it() -> None:
    run = Drive(graph("a", "b", transitions=[{"from": "a", "to": "b", "when": "output.x"}])).start()
    run.blobs["sha256:1"] = Failure("BLOB_MISSING", "it is gone")
    assert run.complete("a", REF).code == "BLOB_UNREADABLE"
    assert run.state.fault is not None
    assert run.state.fault.details == {"cause": "BLOB_MISSING", "blob": "sha256:1"}
