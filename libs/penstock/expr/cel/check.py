"""What an expression may contain: known variables and functions, bounded nesting. And what it reads."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Final, NoReturn, TypeAlias

from penstock.core.model.evaluate import Path
from penstock.expr.cel.lex import fail
from penstock.expr.cel.slots import PREFIX
from penstock.expr.cel.syntax import (
    MACROS,
    MAX_DEPTH,
    Binary,
    Call,
    Index,
    Literal,
    Name,
    Node,
    Select,
    children,
)
from penstock.expr.errors import ExpressionTooComplex

ROOTS: Final = frozenset({"output", "input", "state", "nodes", "ctx", "_branch", "_branches", "_errors", "loop", "now"})
"""The variables of graph expressions; `ctx` is another name of `nodes`."""

MAX_NESTED_MACROS: Final = 2

_TYPES: Final = frozenset({"bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"})
_CALENDAR: Final = (
    *("getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear", "getMonth"),
    *("getHours", "getMinutes", "getSeconds", "getMilliseconds"),
)
FUNCTIONS: Final = {
    **dict.fromkeys(("bool", "bytes", "double", "dyn", "int", "string", "type", "uint"), (1,)),
    **dict.fromkeys(("duration", "has", "size", "timestamp"), (1,)),
    "matches": (2,),
}
METHODS: Final = {
    **dict.fromkeys(("contains", "endsWith", "matches", "startsWith"), (1,)),
    **dict.fromkeys(_CALENDAR, (0, 1)),
    **dict.fromkeys(MACROS - {"map"}, (2,)),
    "map": (2, 3),
    "size": (0,),
}
_TAKEN: Final = ROOTS | _TYPES
_Locals: TypeAlias = frozenset[str]


class Checked:
    """The walk over one tree: refuses what is unknown, collects what is read."""

    def __init__(self, source: str, tree: Node, roots: frozenset[str]) -> None:
        self._source = source
        self._roots = roots
        self.reads: set[Path] = set()
        self.inner_reads: set[Path] = set()
        """What is read inside a loop, so again and again."""
        self.loops = False
        self._walk(tree, frozenset(), macros=0, depth=1)

    def _walk(self, node: Node, bound: _Locals, *, macros: int, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise ExpressionTooComplex(language="CEL", reason="it nests too deeply", limit=f"{MAX_DEPTH} levels")
        if isinstance(node, Name | Select | Index):
            self._read(node, bound, macros, depth)
        elif isinstance(node, Call):
            self._call(node, bound, macros, depth)
        else:
            for child in children(node):
                # A chain of && or || is as deep as its parts: the engines balance it.
                self._walk(child, bound, macros=macros, depth=depth + (not _chained(node, child)))

    def _read(self, node: Name | Select | Index, bound: _Locals, macros: int, depth: int) -> None:
        fields: list[str] = []
        while not isinstance(node, Name):
            if isinstance(node, Select):
                fields.append(node.field)
            else:
                key = node.index.value if isinstance(node.index, Literal) else None
                if isinstance(key, str):
                    fields.append(key)
                else:
                    fields.clear()
                    self._walk(node.index, bound, macros=macros, depth=depth + 1)
            if not isinstance(node.operand, Name | Select | Index):
                self._walk(node.operand, bound, macros=macros, depth=depth + 1)
                return
            node = node.operand
        if node.name in bound or (node.name in _TYPES and not fields):
            return
        if node.name not in self._roots:
            self._unknown("variable", node.name, node.start, self._roots)
        root = "nodes" if node.name == "ctx" else node.name
        self.reads.add((root, *reversed(fields)))
        if macros:
            self.inner_reads.add((root, *reversed(fields)))

    def _call(self, node: Call, bound: _Locals, macros: int, depth: int) -> None:
        known = FUNCTIONS if node.target is None else METHODS
        if node.function not in known:
            kind = "function" if node.target is None else "method"
            self._unknown(kind, node.function, node.start, frozenset(known))
        if len(node.args) not in known[node.function]:
            counts = " or ".join(map(str, known[node.function]))
            self._fail(node, f"{node.function}() has {len(node.args)} arguments", f"{counts} of them")
        if node.function == "has" and not isinstance(node.args[0], Select):
            self._fail(node, "has() asks for a field", "something like `has(output.field)`")
        if node.target is not None:
            self._walk(node.target, bound, macros=macros, depth=depth + 1)
        args = list(node.args)
        if node.target is not None and node.function in MACROS:
            variable = args.pop(0)
            if not isinstance(variable, Name) or variable.name in _TAKEN or variable.name.startswith(PREFIX):
                self._fail(node, f"{node.function}() names its variable first", "a new, plain name")
            self.loops = True
            macros += 1
            if macros > MAX_NESTED_MACROS:
                limit = f"{MAX_NESTED_MACROS} loops inside each other"
                raise ExpressionTooComplex(language="CEL", reason="its loops nest too deeply", limit=limit)
            bound |= {variable.name}
        for arg in args:
            self._walk(arg, bound, macros=macros, depth=depth + 1)

    def _fail(self, node: Node, reason: str, expected: str) -> NoReturn:
        fail(self._source, node.start, reason, expected)

    def _unknown(self, kind: str, name: str, start: int, known: frozenset[str]) -> NoReturn:
        close = get_close_matches(name, sorted(known), n=1)
        expected = f"`{close[0]}`, or another of" if close else "one of"
        fail(self._source, start, f"there is no {kind} `{name}`", f"{expected} {', '.join(sorted(known))}")


def _chained(node: Node, child: Node) -> bool:
    if not isinstance(node, Binary) or not isinstance(child, Binary):
        return False
    return node.op == child.op and node.op in {"&&", "||"}
