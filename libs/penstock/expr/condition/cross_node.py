"""`cross_node_comparison`: this node's output against that of others.

Either two operands and an operator, or an expression in CEL's syntax over `current` and `ctx`. The expression's
numbers are those of JSON: whole and fractional ones mix, and `/` divides exactly, so that a growth of
`(120 - 100) / 100` is 0.2 and not, as between CEL's integers, 0.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from penstock.core.model.evaluate import Json, Path, Variables, Verdicts
from penstock.expr.cel.check import ROOTS, Checked
from penstock.expr.cel.lex import fail
from penstock.expr.cel.syntax import (
    Binary,
    Call,
    Index,
    ListOf,
    Literal,
    Name,
    Node,
    Select,
    Ternary,
    Unary,
    parse,
)
from penstock.expr.compare import COMPARISONS
from penstock.expr.condition.base import CompiledCondition, Fields
from penstock.expr.errors import CompileError, EvaluationError, NotBoolean
from penstock.expr.values import follow, type_name

_Value: TypeAlias = Callable[[Variables], Json]
_Steps: TypeAlias = tuple[str | int, ...]

_LANGUAGE: Final = "cross_node_comparison"
_ROOTS: Final = (ROOTS | {"current"}) - {"now"}
_NODE_FIELDS: Final = frozenset({"output", "metadata"})
_ARITHMETIC: Final[Mapping[str, Callable[[Json, Json], Json]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
}
_OPERAND: Final = '{"source": "current", "path": …}, {"source": "context", "node": …, "path": …} or {"value": …}'


class CrossNodeCondition(CompiledCondition):
    def __init__(self, value: _Value, reads: frozenset[Path]) -> None:
        self._value = value
        self.reads = reads

    def verdict(self, variables: Variables, verdicts: Verdicts) -> bool:  # noqa: ARG002 - one shape for all
        return _boolean(self._value(variables))


def compile_cross_node(fields: Fields) -> CrossNodeCondition:
    if fields.has("expression"):
        return compile_expression(fields.text("expression", expected="an expression over `current` and `ctx`"))
    left, left_reads = _operand(fields, "left")
    right, right_reads = _operand(fields, "right")
    name = fields.text("operator", expected=f"one of {', '.join(COMPARISONS)}")
    if name not in COMPARISONS:
        raise fields.invalid(f"there is no operator `{name}`", f"one of {', '.join(COMPARISONS)}")
    compare = COMPARISONS[name]
    return CrossNodeCondition(lambda v: compare(left(v), right(v)), left_reads | right_reads)


def compile_expression(source: str) -> CrossNodeCondition:
    tree = parse(source)
    Checked(source, tree, _ROOTS)
    compiler = _Compiler(source)
    return CrossNodeCondition(compiler.value(tree), frozenset(compiler.reads))


def _operand(fields: Fields, side: str) -> tuple[_Value, frozenset[Path]]:
    given = fields.take(side, dict, expected=_OPERAND)
    inner = Fields(given if isinstance(given, dict) else {}, f"{_LANGUAGE}.{side}")
    if inner.has("value"):
        value = inner.optional("value", expected="any value")
        inner.finish()
        return lambda _: value, frozenset()
    source = inner.text("source", expected=_OPERAND)
    if source not in {"current", "context"}:
        raise inner.invalid(f"there is no source `{source}`", _OPERAND)
    path = inner.text("path", expected="a path, like `output.items[0].price`")
    try:
        steps = _steps(parse(f"current.{path}"))
    except CompileError:
        steps = None
    if steps is None:
        raise inner.invalid(f"`{path}` is not a path", "something like `output.items[0].price`")
    if source == "context":
        steps = ("ctx", inner.text("node", expected="the id of a node"), *steps[1:])
    inner.finish()
    steps = _spelled_out(steps)
    return lambda variables: follow(variables, steps, _LANGUAGE), frozenset({_names(steps)})


def _steps(node: Node) -> _Steps | None:
    """Fields and positions from a variable down, if they are all written out."""
    steps: list[str | int] = []
    while not isinstance(node, Name):
        if isinstance(node, Select):
            steps.append(node.field)
        elif isinstance(node, Index) and isinstance(node.index, Literal) and node.index.kind in {"int", "string"}:
            steps.append(node.index.value)  # type: ignore[arg-type]  # of these kinds
        else:
            return None
        node = node.operand
    return (node.name, *reversed(steps))


def _spelled_out(steps: _Steps) -> _Steps:
    """`current.x` is short for `current.output.x`, and `ctx.node.x` for `ctx.node.output.x`."""
    root, *rest = steps
    if root == "current":
        return ("output", *(rest[1:] if rest[:1] == ["output"] else rest))
    if root in {"ctx", "nodes"} and len(rest) > 1 and rest[1] not in _NODE_FIELDS:
        rest.insert(1, "output")
    return ("nodes" if root == "ctx" else root, *rest)


def _names(steps: _Steps) -> Path:
    """The part of the path that is known to be fields."""
    names: list[str] = []
    for step in steps:
        if not isinstance(step, str):
            break
        names.append(step)
    return tuple(names)


def _boolean(value: Json) -> bool:
    if value is True or value is False:
        return bool(value)
    raise NotBoolean(language=_LANGUAGE, result=type_name(value))


class _Compiler:
    """A CEL tree to nested functions over JSON."""

    def __init__(self, source: str) -> None:
        self._source = source
        self.reads: set[Path] = set()

    def value(self, node: Node) -> _Value:  # noqa: PLR0911 - one line per kind of node
        match node:
            case Literal():
                constant = node.value
                return lambda _: constant
            case ListOf():
                items = [self.value(item) for item in node.items]
                return lambda v: [item(v) for item in items]
            case Name() | Select() | Index():
                return self._path(node)
            case Unary():
                return self._unary(node)
            case Binary():
                return self._binary(node)
            case Ternary():
                test, then, otherwise = map(self.value, (node.test, node.then, node.otherwise))
                return lambda v: then(v) if _boolean(test(v)) else otherwise(v)
            case Call(function="size", args=(argument,), target=None):
                return _sized(self.value(argument))
            case _:
                expected = "paths, literals, operators and size(); a `cel` condition has the rest"
                return fail(self._source, node.start, "that is too much for a comparison of nodes", expected)

    def _path(self, node: Name | Select | Index) -> _Value:
        steps = _steps(node)
        if steps is None:
            fail(self._source, node.start, "the position is computed", "a position or name that is written out")
        steps = _spelled_out(steps)
        self.reads.add(_names(steps))
        return lambda variables: follow(variables, steps, _LANGUAGE)

    def _unary(self, node: Unary) -> _Value:
        operand = self.value(node.operand)
        if node.op == "!":
            return lambda v: not _boolean(operand(v))
        return lambda v: -_number(operand(v), "-")

    def _binary(self, node: Binary) -> _Value:
        left, right, op = self.value(node.left), self.value(node.right), node.op
        if op == "&&":
            return lambda v: _boolean(left(v)) and _boolean(right(v))
        if op == "||":
            return lambda v: _boolean(left(v)) or _boolean(right(v))
        if op in COMPARISONS:
            compare = COMPARISONS[op]
            return lambda v: compare(left(v), right(v))
        apply = _ARITHMETIC[op]

        def calculate(variables: Variables) -> Json:
            one, other = left(variables), right(variables)
            try:
                return apply(_number(one, op), _number(other, op))
            except ArithmeticError as error:
                raise EvaluationError(language=_LANGUAGE, reason=str(error)) from None

        return calculate


def _number(value: Json, op: str) -> Json:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise EvaluationError(language=_LANGUAGE, reason=f"`{op}` needs numbers, not {type_name(value)}")
    return value


def _sized(argument: _Value) -> _Value:
    def size(variables: Variables) -> int:
        value = argument(variables)
        if isinstance(value, str | list | dict):
            return len(value)
        raise EvaluationError(language=_LANGUAGE, reason=f"{type_name(value)} has no size")

    return size
