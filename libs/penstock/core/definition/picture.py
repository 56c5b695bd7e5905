"""A compiled graph as a picture: text for Mermaid and for Graphviz."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from penstock.core.model.graph import Behaviour, GraphRule, Json, NodeRule, TransitionRule

_LONGEST: Final = 48

_MERMAID_SHAPES: Final[dict[Behaviour, tuple[str, str]]] = {
    "task": ("[", "]"),
    "pass": ("((", "))"),
    "transform": ("[/", "/]"),
    "human": ("{{", "}}"),
    "workflow": ("[[", "]]"),
    "wait": ("([", "])"),
    "migration": ("[\\", "\\]"),
}
_DOT_SHAPES: Final[dict[Behaviour, str]] = {
    "task": "box",
    "pass": "circle",
    "transform": "parallelogram",
    "human": "hexagon",
    "workflow": "box3d",
    "wait": "ellipse",
    "migration": "cds",
}


class _Arrow(NamedTuple):
    source: str
    to: str
    label: str
    style: Literal["solid", "dashed"]
    """Dashed: not on the way of success."""


def mermaid(graph: GraphRule) -> str:
    ids = {name: f"n{index}" for index, name in enumerate(graph.nodes)}
    lines = ["flowchart TD"]
    for name, node in graph.nodes.items():
        left, right = _MERMAID_SHAPES[node.behaviour]
        lines.append(f'  {ids[name]}{left}"{_escape_mermaid(_title(node))}"{right}')
    lines.extend(f"  start{index}(( )) --> {ids[name]}" for index, name in enumerate(graph.entries))
    for arrow in _arrows(graph):
        line = "-->" if arrow.style == "solid" else "-.->"
        label = f'|"{_escape_mermaid(arrow.label)}"|' if arrow.label else ""
        lines.append(f"  {ids[arrow.source]} {line}{label} {ids[arrow.to]}")
    return "\n".join(lines) + "\n"


def dot(graph: GraphRule) -> str:
    lines = [f"digraph {_quote_dot(graph.name or 'workflow')} {{", "  node [fontname=sans]; edge [fontname=sans];"]
    for name, node in graph.nodes.items():
        peripheries = ", peripheries=2" if node.terminal else ""
        shape = _DOT_SHAPES[node.behaviour]
        lines.append(f"  {_quote_dot(name)} [shape={shape}, label={_quote_dot(_title(node))}{peripheries}];")
    for index, name in enumerate(graph.entries):
        lines.append(f'  "start {index}" [shape=point]; "start {index}" -> {_quote_dot(name)};')
    for arrow in _arrows(graph):
        label = f", label={_quote_dot(arrow.label)}" if arrow.label else ""
        lines.append(f"  {_quote_dot(arrow.source)} -> {_quote_dot(arrow.to)} [style={arrow.style}{label}];")
    return "\n".join([*lines, "}"]) + "\n"


def _title(node: NodeRule) -> str:
    marks = [node.type] if node.type not in {node.behaviour, node.id} else []
    marks += ["waits for all"] if node.wait_for_all else []
    return f"{node.id} ({', '.join(marks)})" if marks else node.id


def _arrows(graph: GraphRule) -> Iterator[_Arrow]:
    for name, node in graph.nodes.items():
        shown = {transition.id for transition in node.transitions}
        for transition in node.transitions:
            yield _Arrow(name, transition.to, _label(transition), "solid")
        for transition in node.on_error:
            if transition.id not in shown:
                label = _label(transition)
                yield _Arrow(name, transition.to, f"error: {label}" if label else "error", "dashed")
        yield from _other_arrows(node)


def _other_arrows(node: NodeRule) -> Iterator[_Arrow]:
    if loop := node.loop:
        yield _Arrow(node.id, loop.back_to, f"loop, at most {loop.max_iterations}: {_text(loop.condition)}", "dashed")
        for to in loop.timeout_path or ():
            yield _Arrow(node.id, to, "loop limit", "dashed")
    if agent := node.agent:
        for to in dict.fromkeys((*agent.allowed, *agent.default)):
            yield _Arrow(node.id, to, "agent" if to in agent.allowed else "default", "solid")
    if node.human:
        for to in node.human.rejection_path or ():
            yield _Arrow(node.id, to, "rejected", "dashed")


def _label(transition: TransitionRule) -> str:
    parts = [_text(transition.when)] if transition.when is not None else []
    parts += ["default"] if transition.default else []
    parts += [f"for each {_text(transition.foreach.items)}"] if transition.foreach else []
    parts += [f"{transition.spawn} copies"] if transition.spawn is not None else []
    parts += [f"join {transition.joins}"] if transition.joins else []
    parts += [f"at most {transition.max_iterations}"] if transition.max_iterations else []
    return ", ".join(parts)


def _text(expression: Json) -> str:
    """An expression in a few words."""
    if isinstance(expression, dict):
        expression = expression.get("expression") or expression.get("query") or expression.get("type", "condition")
    text = " ".join(str("always" if expression is None else expression).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _escape_mermaid(text: str) -> str:
    codes = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "`": "#96;"}
    return "".join(codes.get(character, character) for character in text)


def _quote_dot(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
