"""Basic control flow: WCP 1 to 5."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.core.graph.patterns.page import flow, graph, open_nodes

Json = Any


def test_wcp_01_sequence() -> None:
    run = flow("a -> b -> c").work(lambda task: task.node)
    assert run.visited() == ["a", "b", "c"]
    assert run.output == "c"


def test_wcp_02_parallel_split() -> None:
    assert open_nodes(flow("a -> b", "a -> c").complete("a")) == ["b", "c"]


def test_wcp_03_synchronization() -> None:
    both = {"dependencies": ["b", "c"], "wait_for_all": True}
    run = flow("a -> b -> d", "a -> c -> d", d=both).complete("a").complete("b", 1)
    assert open_nodes(run) == ["c"]
    (task,) = run.complete("c", 2).open()
    assert (task.node, task.input) == ("d", {"b": 1, "c": 2})


@pytest.mark.parametrize(("amount", "way"), [(5, "small"), (50, "large"), (500, "huge")])
def test_wcp_04_exclusive_choice(amount: int, way: str) -> None:
    run = graph(
        {name: {} for name in ("a", "small", "large", "huge")},
        {"from": "a", "to": "small", "when": "output < 10", "priority": 1},
        {"from": "a", "to": "large", "when": "output < 100", "priority": 2},
        {"from": "a", "to": "huge", "default": True},
    )
    assert open_nodes(run.complete("a", amount)) == [way]


@pytest.mark.parametrize("way", ["b", "c"])
def test_wcp_05_simple_merge(way: str) -> None:
    run = graph(
        {name: {} for name in "abcd"},
        {"from": "a", "to": "b", "when": "output == 'b'"},
        {"from": "a", "to": "c", "default": True},
        {"from": "b", "to": "d"},
        {"from": "c", "to": "d"},
    )
    assert run.work(lambda _: way).visited() == ["a", way, "d"]
