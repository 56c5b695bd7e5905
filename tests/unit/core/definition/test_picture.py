"""A definition as text for drawing programs."""

from __future__ import annotations

from collections.abc import Callable

from penstock.core.definition.picture import dot, mermaid
from penstock.core.model.graph import GraphRule

TEXT = """
name: order
nodes:
  check: {type: http}
  ask: {type: human, dependents: done, rejection_path: refused}
  done: {type: pass}
  refused: {type: pass}
transitions:
  - {from: check, to: ask, when: 'output.name == "x#1"'}
  - {from: check, to: done, foreach: output.items}
  - {from: check, to: refused, on: error}
"""


def test_mermaid_draws_every_node_and_every_way(compiled: Callable[[str], GraphRule]) -> None:
    assert mermaid(compiled(TEXT)).splitlines() == [
        "flowchart TD",
        '  n0["check (http)"]',
        '  n1{{"ask"}}',
        '  n2(("done"))',
        '  n3(("refused"))',
        "  start0(( )) --> n0",
        '  n0 -->|"output.name == #quot;x#35;1#quot;"| n1',
        '  n0 -->|"for each output.items"| n2',
        '  n0 -.->|"error"| n3',
        "  n1 --> n2",
        '  n1 -.->|"rejected"| n3',
    ]


def test_dot_draws_every_node_and_every_way(compiled: Callable[[str], GraphRule]) -> None:
    lines = dot(compiled(TEXT)).splitlines()
    assert lines[0] == 'digraph "order" {'
    assert '  "done" [shape=circle, label="done", peripheries=2];' in lines
    assert '  "check" -> "ask" [style=solid, label="output.name == \\"x#1\\""];' in lines
    assert '  "check" -> "refused" [style=dashed, label="error"];' in lines
    assert lines[-1] == "}"


def test_loops_and_agents_are_drawn(compiled: Callable[[str], GraphRule]) -> None:
    text = mermaid(
        compiled("""
            nodes:
              try: {loop: {max_iterations: 3, condition: output.again, timeout_path: give_up}, dependents: choose}
              choose: {branch: {type: agent_driven, available_next_nodes: [a], default: give_up}}
              a:
              give_up:
        """)
    )
    assert 'n0 -.->|"loop, at most 3: output.again"| n0' in text
    assert 'n0 -.->|"loop limit"| n3' in text
    assert 'n1 -->|"agent"| n2' in text
    assert 'n1 -->|"default"| n3' in text
