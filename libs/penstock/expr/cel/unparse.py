"""A tree back to CEL source, for the engine that takes text."""

from __future__ import annotations

from typing import Final

from penstock.expr.cel.syntax import (
    PRECEDENCE,
    Binary,
    Call,
    Index,
    ListOf,
    Literal,
    MapOf,
    Name,
    Node,
    Select,
    Ternary,
    Unary,
)

_COMPARE: Final = frozenset({"==", "!=", "<", "<=", ">", ">="})
_NUMBERS: Final = frozenset({"int", "uint", "double"})
_NEGATIVE, _UNARY, _MEMBER = 6, 7, 8
"""How tightly a negative number, a sign and a member bind: above all of `PRECEDENCE`."""


def unparse(tree: Node, *, untyped_numbers: bool = False) -> str:
    """With `untyped_numbers`, numbers that are compared are hidden from the type check."""
    return _Writer(untyped_numbers=untyped_numbers).write(tree, 0)


class _Writer:
    def __init__(self, *, untyped_numbers: bool) -> None:
        self._untyped_numbers = untyped_numbers

    def write(self, node: Node, level: int) -> str:
        """The node's text, in parentheses if it binds more loosely than where it stands."""
        text, own = self._text(node)
        return f"({text})" if own < level else text

    def _text(self, node: Node) -> tuple[str, int]:  # noqa: C901, PLR0911 - one line per kind of node
        match node:
            case Literal():
                return node.text, _NEGATIVE if node.text.startswith("-") else _MEMBER
            case Name():
                return node.name, _MEMBER
            case Select():
                return f"{self.write(node.operand, _MEMBER)}.{node.field}", _MEMBER
            case Index():
                return f"{self.write(node.operand, _MEMBER)}[{self.write(node.index, 0)}]", _MEMBER
            case ListOf():
                return f"[{self._list(node.items)}]", _MEMBER
            case MapOf():
                entries = (f"{self.write(key, 0)}: {self.write(value, 0)}" for key, value in node.entries)
                return f"{{{', '.join(entries)}}}", _MEMBER
            case Unary():
                return f"{node.op}{self.write(node.operand, _UNARY)}", _UNARY
            case Binary():
                return self._binary(node)
            case Ternary():
                test, then = self.write(node.test, 1), self.write(node.then, 1)
                return f"{test} ? {then} : {self.write(node.otherwise, 0)}", 0
            case Call():
                target = "" if node.target is None else f"{self.write(node.target, _MEMBER)}."
                return f"{target}{node.function}({self._list(node.args)})", _MEMBER

    def _binary(self, node: Binary) -> tuple[str, int]:
        level = PRECEDENCE[node.op]
        left, right = self.write(node.left, level), self.write(node.right, level + 1)
        if self._untyped_numbers and node.op in _COMPARE:
            left, right = _untyped(node.left, left), _untyped(node.right, right)
        return f"{left} {node.op} {right}", level

    def _list(self, nodes: tuple[Node, ...]) -> str:
        return ", ".join(self.write(node, 0) for node in nodes)


def _untyped(node: Node, text: str) -> str:
    return f"dyn({text})" if isinstance(node, Literal) and node.kind in _NUMBERS else text
