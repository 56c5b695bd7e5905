"""The paths an expression reads, taken out of it and numbered.

An engine converts every value it is given, all the way down: forty microseconds for two kilobytes, of which one
number was wanted. So `output.score >= 80` is run as `__0 >= 80`, and only what stands at the path is handed over.
A path that leads nowhere stays unbound, which both engines treat as CEL treats a missing field: an error, if it is
reached. It is then explained by following the path again.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

import msgspec

from penstock.core.model.evaluate import Json, Path, Variables
from penstock.expr.cel.syntax import (
    MACROS,
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
from penstock.expr.errors import EvaluationError, ExpressionTooComplex
from penstock.expr.values import follow, moment

MAX_SLOTS: Final = 64
PREFIX: Final = "__"
SLOT_NAMES: Final = tuple(f"{PREFIX}{number}" for number in range(MAX_SLOTS))

_SLOT: Final = re.compile(rf"{PREFIX}(\d+)")
_NOW: Final = "now"
_NO_OBJECT: Final = 0
_Bound: TypeAlias = frozenset[str]


class Slot(msgspec.Struct, frozen=True):
    path: Path
    asked: str | None = None
    """For `has(path.asked)`: only whether it is there matters."""


def static_path(node: Node, bound: _Bound = frozenset()) -> Path | None:
    """The fields from a variable down, if the node is nothing else."""
    fields: list[str] = []
    while not isinstance(node, Name):
        if isinstance(node, Select):
            fields.append(node.field)
        elif isinstance(node, Index) and isinstance(node.index, Literal) and isinstance(node.index.value, str):
            fields.append(node.index.value)
        else:
            return None
        node = node.operand
    if node.name in bound:
        return None
    return ("nodes" if node.name == "ctx" else node.name, *reversed(fields))


class Slots:
    """The paths of one expression, and the expression without them."""

    def __init__(self, tree: Node, roots: frozenset[str]) -> None:
        self._roots = roots - {_NOW}  # it has a type of its own, and no fields
        self._now = False
        self._numbers: dict[Slot, int] = {}
        self.tree = self._without_paths(tree, frozenset())
        self._slots = tuple((SLOT_NAMES[number], slot.path, slot.asked) for slot, number in self._numbers.items())

    def bind(self, variables: Variables) -> dict[str, Json]:
        bound: dict[str, Json] = {_NOW: moment(variables[_NOW])} if self._now and _NOW in variables else {}
        for name, path, asked in self._slots:
            value: Json = variables
            try:
                for field in path:
                    value = value[field]
            except (KeyError, TypeError):
                continue
            if asked is not None:
                value = ({asked: None} if asked in value else {}) if isinstance(value, dict) else _NO_OBJECT
            bound[name] = value
        return bound

    def explain(self, error: EvaluationError, variables: Variables) -> EvaluationError:
        """An engine's complaint about a number, in the words of the expression."""
        found = _SLOT.search(str(error.attributes.get("reason")))
        if found is None:
            return error
        try:
            follow(variables, self._slots[int(found[1])][1], "CEL")
        except EvaluationError as missing:
            return missing
        return error

    def _without_paths(self, node: Node, bound: _Bound) -> Node:  # noqa: PLR0911 - one line per kind of node
        path = static_path(node, bound)
        if path is not None and path[0] in self._roots:
            return self._slot(Slot(path), node)
        self._now = self._now or path == (_NOW,)
        match node:
            case Select():
                return Select(self._without_paths(node.operand, bound), node.field, node.start)
            case Index():
                operand, index = self._without_paths(node.operand, bound), self._without_paths(node.index, bound)
                return Index(operand, index, node.start)
            case ListOf():
                return ListOf(self._all(node.items, bound), node.start)
            case MapOf():
                entries = ((self._without_paths(k, bound), self._without_paths(v, bound)) for k, v in node.entries)
                return MapOf(tuple(entries), node.start)
            case Unary():
                return Unary(node.op, self._without_paths(node.operand, bound), node.start)
            case Binary():
                left, right = self._all((node.left, node.right), bound)
                return Binary(node.op, left, right, node.start)
            case Ternary():
                test, then, otherwise = self._all((node.test, node.then, node.otherwise), bound)
                return Ternary(test, then, otherwise, node.start)
            case Call():
                return self._call(node, bound)
            case _:
                return node

    def _call(self, node: Call, bound: _Bound) -> Node:
        if node.target is None and node.function == "has":
            return self._has(node, bound)
        target = node.target and self._without_paths(node.target, bound)
        args = node.args
        if target is not None and node.function in MACROS and isinstance(args[0], Name):
            inner = bound | {args[0].name}
            return Call(node.function, target, (args[0], *self._all(args[1:], inner)), node.start)
        return Call(node.function, target, self._all(args, bound), node.start)

    def _has(self, node: Call, bound: _Bound) -> Node:
        (asked,) = node.args
        assert isinstance(asked, Select)  # noqa: S101 - the check has seen to it
        path = static_path(asked.operand, bound)
        slot = Slot(path, asked.field) if path is not None and path[0] in self._roots else None
        operand = self._slot(slot, asked) if slot else self._without_paths(asked.operand, bound)
        return Call("has", None, (Select(operand, asked.field, asked.start),), node.start)

    def _all(self, nodes: tuple[Node, ...], bound: _Bound) -> tuple[Node, ...]:
        return tuple(self._without_paths(node, bound) for node in nodes)

    def _slot(self, slot: Slot, node: Node) -> Name:
        number = self._numbers.setdefault(slot, len(self._numbers))
        if number >= MAX_SLOTS:
            limit = f"{MAX_SLOTS} different paths"
            raise ExpressionTooComplex(language="CEL", reason="it reads too many things", limit=limit)
        return Name(SLOT_NAMES[number], node.start)
