"""Iteration and termination: WCP 10, 11, 21, 22, 43."""

from __future__ import annotations

import pytest

from penstock.core.graph.effects import outstanding
from penstock.core.model import commands as c
from penstock.core.model import effects as f
from tests.unit.core.graph.patterns.page import example, flow, graph, open_nodes, signal


@pytest.mark.parametrize("path", ["a", "b", "ab", "ba", "abab", "babab"])
def test_wcp_10_arbitrary_cycles(path: str) -> None:
    """`a` and `b` are a cycle with two ways in, from `s`, and two ways out, to `c` and `d`."""
    choices = [{"from": source, "to": to, "when": f"output == '{to}'"} for source, to in ("sa", "sb", "ab", "ba")]
    cycle = [way | {"max_iterations": 9} for way in choices[2:]]
    ends = [{"from": "a", "to": "c", "default": True}, {"from": "b", "to": "d", "default": True}]
    run = graph({name: {} for name in "sabcd"}, *choices[:2], *cycle, *ends).complete("s", path[0])
    for node, following in zip(path, [*path[1:], "out"], strict=True):
        run.complete(node, following)
    assert run.visited() == ["s", *path]
    assert open_nodes(run) == ["c" if path[-1] == "a" else "d"]


def test_wcp_11_implicit_termination() -> None:
    run = flow("a -> b", "a -> c").complete("a").complete("b")
    assert run.outcome is None
    assert (run.complete("c").outcome, run.status) == ("completed", "closed")


@pytest.mark.parametrize("turns", [1, 3])
def test_wcp_21_structured_loop(turns: int) -> None:
    loop = {"condition": "output == 'again'", "max_iterations": 5}
    run = graph({"a": {"loop": loop, "dependents": ["b"]}, "b": {}})
    for _ in range(turns - 1):
        run.complete("a", "again")
    assert open_nodes(run.complete("a", "done")) == ["b"]
    assert run.visited().count("a") == turns


def test_wcp_22_recursion() -> None:
    nodes = {"split": {"on_no_match": "end"}, "itself": {"type": "workflow", "workflow": "w"}}
    run = graph(nodes, {"from": "split", "to": "itself", "when": "output.deeper"}).complete("split", {"deeper": True})
    (child,) = [effect for effect in outstanding(run.program, run.state) if isinstance(effect, f.StartChild)]
    assert (child.workflow, child.depth) == (run.program.graph.name, 1)
    assert run.send(c.EndChild(child.child, "completed", "deep")).output == "deep"


def test_wcp_43_explicit_termination() -> None:
    run = signal(example(43).complete("advertise"), "offer", 100)
    assert (run.outcome, run.status, run.output) == ("completed", "closed", [100])
    assert "task.cancelled" in run.kinds()
    assert "again" not in run.visited()
