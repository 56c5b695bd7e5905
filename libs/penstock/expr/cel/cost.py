"""What a loop in an expression may cost, bounded before it runs.

The engines bound the number of steps, but a step can touch all the data: `xs.all(x, ys == zs)`, `xs.map(x, s + s)`.
On lists of nine thousand that took eight seconds and six gigabytes. So for expressions with loops the work is
estimated from their shape and the data's: `n`, the longest list, and `h`, the most that one operation can touch.
Expressions without loops are bounded by the size of their source, and cost nothing here.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    Name,
    Node,
    Select,
    Ternary,
    children,
)
from penstock.expr.errors import ExpressionTooComplex, LimitExceeded

MAX_WORK: Final = 5_000_000
"""About half a second on the fast engine, at the very worst."""

MAX_GROWTH: Final = 64
"""How many copies of one string or list an expression may put together."""

_BYTES_PER_UNIT: Final = 64
_REGEX: Final = 8
_TOUCHES_ALL: Final = frozenset({"==", "!=", "in", "+"})
_TEXT: Final = frozenset({"contains", "startsWith", "endsWith", "string"})
_Work: TypeAlias = dict[int, tuple[int, int]]
"""By power of n: work that does not depend on the data, and work per unit of h."""


class Cost:
    """The work of an expression with loops, as a polynomial in n and h."""

    def __init__(self, tree: Node, reads: frozenset[Path], inner_reads: frozenset[Path]) -> None:
        self._reads = reads
        self._inner_reads = inner_reads
        self._work = _work(tree, {})

    def check(self, variables: Variables) -> None:
        """Refuse data on which the loops would take too long."""
        data = [_reach(variables, path) for path in self._reads]
        half = len(msgspec.json.encode(data)) // 2  # an element of a list takes two bytes at least
        if self._of(half, half) <= MAX_WORK:
            return
        shape = _Shape()
        for value in data:
            shape.measure(value)
        inner = [_Shape().measure(_reach(variables, path)) for path in self._inner_reads]
        if self._of(shape.longest, max([shape.largest_element, *inner])) > MAX_WORK:
            limit = f"{MAX_WORK:,} units of work"
            raise LimitExceeded(language="CEL", limit=limit, reason="the data is too big for its loops")

    def _of(self, n: int, h: int) -> int:
        return sum(n**power * (light + heavy * h) for power, (light, heavy) in self._work.items())


class _Shape:
    """How long and how big the parts of a value are."""

    def __init__(self) -> None:
        self.longest = 1
        self.largest_element = 1

    def measure(self, value: Json) -> int:
        if isinstance(value, str):
            return 1 + len(value) // _BYTES_PER_UNIT
        if not isinstance(value, list | dict):
            return 1
        self.longest = max(self.longest, len(value))
        sizes = [self.measure(item) for item in (value if isinstance(value, list) else value.values())]
        elements = sizes if isinstance(value, list) else [1 + len(key) // _BYTES_PER_UNIT for key in value]
        self.largest_element = max(self.largest_element, *elements) if elements else self.largest_element
        return 1 + sum(sizes)


def _reach(variables: Variables, path: Path) -> Json:
    value: Json = variables
    for field in path:
        value = value.get(field) if isinstance(value, Mapping) else None
    return value


def _work(node: Node, bound: dict[str, int]) -> _Work:
    if isinstance(node, Call) and node.target is not None and node.function in MACROS:
        return _loop(node, node.target, bound)
    heavy = 0
    if isinstance(node, Binary) and node.op in _TOUCHES_ALL and not _is_short(node):
        heavy = _growth(node, bound)
    elif isinstance(node, Call) and node.function in _TEXT:
        heavy = 1
    elif isinstance(node, Call) and node.function == "matches":
        heavy = _REGEX
    return _sum({0: (1, heavy)}, *(_work(child, bound) for child in children(node)))


def _loop(node: Call, target: Node, bound: dict[str, int]) -> _Work:
    variable, *bodies = node.args
    length = _growth(target, bound)
    inside = {**bound, variable.name: length} if isinstance(variable, Name) else bound
    body = _sum(*(_work(body, inside) for body in bodies))
    repeated: _Work = {power + 1: (length * light, length * heavy) for power, (light, heavy) in body.items()}
    # The engines build the result of these by copying it at every step.
    copying: _Work = {2: (length, 0)} if node.function in {"map", "filter"} else {}
    return _sum(_work(target, bound), repeated, copying)


def _growth(node: Node, bound: dict[str, int]) -> int:
    """At most how many copies of one piece of data the value may be made of."""
    match node:
        case Name():
            growth = bound.get(node.name, 1)
        case Select() | Index():
            growth = _growth(node.operand, bound)
        case Binary(op="+") if not _is_short(node):
            growth = _growth(node.left, bound) + _growth(node.right, bound)
        case Ternary():
            growth = max(_growth(node.then, bound), _growth(node.otherwise, bound))
        case Call(function=function, target=target) if target is not None and function in MACROS:
            growth = _growth(target, bound)
            variable = node.args[0]
            if function == "map" and isinstance(variable, Name):
                growth = max(growth, _growth(node.args[-1], {**bound, variable.name: growth}))
        case _:
            growth = max((_growth(child, bound) for child in children(node)), default=1)
    if growth > MAX_GROWTH:
        limit = f"{MAX_GROWTH} copies"
        raise ExpressionTooComplex(language="CEL", reason="it multiplies its strings or lists", limit=limit)
    return growth


def _is_short(node: Binary) -> bool:
    """Whether one side is a constant, so that the operation is over soon."""
    if node.op == "in":
        return isinstance(node.right, ListOf)
    return isinstance(node.left, Literal) or isinstance(node.right, Literal)


def _sum(*works: _Work) -> _Work:
    total: _Work = {}
    for work in works:
        for power, (light, heavy) in work.items():
            so_far = total.get(power, (0, 0))
            total[power] = (so_far[0] + light, so_far[1] + heavy)
    return total
