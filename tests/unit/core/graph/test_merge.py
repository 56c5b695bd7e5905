"""Merges: always by branch index, whatever came first."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.graph.fault import NodeFault
from penstock.core.graph.merge import Contribution, merge
from penstock.core.model.graph import MergeRule
from tests.unit.core.graph.drive import Drive, graph

Json = Any


def contributions(outputs: list[Json]) -> list[Contribution]:
    return [Contribution(index, str(index), output) for index, output in enumerate(outputs)]


STRATEGIES = ("append", "concat", "merge_object", "keyed_by_branch", "last_wins")


@pytest.mark.parametrize(
    ("strategy", "outputs", "expected"),
    [
        pytest.param("append", [[1], [2, 3]], [[1], [2, 3]], id="append never flattens"),
        pytest.param("concat", [[1, [2]], 3], [1, [2], 3], id="concat flattens one level"),
        pytest.param("merge_object", [{"a": {"x": 1}}, {"a": {"y": 2}}], {"a": {"y": 2}}, id="shallow, later wins"),
        pytest.param("keyed_by_branch", ["x", "y"], {"0": "x", "1": "y"}, id="by index as a string"),
        pytest.param("last_wins", ["x", "y"], "y", id="the highest index"),
        pytest.param("append", [], [], id="empty append"),
        pytest.param("concat", [], [], id="empty concat"),
        pytest.param("merge_object", [], {}, id="empty merge_object"),
        pytest.param("keyed_by_branch", [], {}, id="empty keyed_by_branch"),
        pytest.param("last_wins", [], None, id="empty last_wins"),
    ],
)
def test_a_strategy_merges_by_index(strategy: Any, outputs: list[Json], expected: Json) -> None:  # noqa: ANN401 - a literal
    assert merge(MergeRule(strategy), contributions(outputs)) == expected


def test_only_objects_merge_as_objects() -> None:
    with pytest.raises(NodeFault) as caught:
        merge(MergeRule("merge_object"), contributions([{}, []]))
    assert caught.value.code == "MERGE_TYPE"


def joined(strategy: str, **more: Json) -> dict[str, Json]:
    sync = {"group": "g", "merge": {"strategy": strategy, **more}}
    ways = [{"from": "a", "to": "b", "group": "g", "foreach": "output"}, {"from": "b", "to": "c", "synchronize": sync}]
    return graph("a", "b", "c", transitions=ways)


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(order=st.permutations(range(5)))
def test_the_order_of_arrival_never_changes_the_merge(strategy: str, order: list[int]) -> None:
    outputs = [{"n": index, f"k{index}": index} for index in range(5)]
    run = Drive(joined(strategy)).start().complete("a", list(range(5)))
    tasks = run.open("b")
    for index in order:
        run.answer(tasks[index], outputs[index])
    expected = merge(MergeRule(strategy), contributions(outputs))  # type: ignore[arg-type]
    found = run.open("c")[0].input
    assert found == expected
    assert repr(found) == repr(expected)  # keys in the same order too


def test_the_source_and_the_key_are_expressions_over_the_branch() -> None:
    run = Drive(joined("keyed_by_branch", source="output.v", key="_branch.item")).start().complete("a", ["x", "y"])
    run.complete("b", {"v": 2}, index=1).complete("b", {"v": 1})
    assert list(run.open("c")[0].input.items()) == [("x", 1), ("y", 2)]


def test_a_merge_of_another_type_fails_the_joins_target() -> None:
    run = Drive(joined("merge_object")).start().complete("a", [1]).complete("b", 3)
    assert (run.outcome, run.code) == ("failed", "MERGE_TYPE")


@pytest.mark.parametrize(
    ("more", "code"),
    [
        pytest.param({"state": {"x": 1}}, "MAPPING_ERROR", id="something is in the way"),
        pytest.param(
            {"state_schema": {"properties": {"x": {"properties": {"y": {"type": "string"}}}}}},
            "STATE_SCHEMA",
            id="schema",
        ),
    ],
)
def test_a_merge_that_cannot_be_written_fails_the_joins_target(more: dict[str, Json], code: str) -> None:
    run = Drive({**joined("append", target="x.y"), **more}).start().complete("a", [1]).complete("b", 3)
    assert (run.outcome, run.code) == ("failed", code)
