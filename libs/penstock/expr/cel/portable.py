"""CEL by `cel-python`: pure Python, wherever the fast engine has no wheel.

Three repairs, so that both engines give the same answers on the same data: operators and conversions are strict
about types where CEL is and lenient where CEL is (equality, ordering of numbers), errors pass through operators
with their reason, and evaluation has a step budget. It walks a tree made from our own parse, not from its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import reduce
from importlib.metadata import version
from typing import Any, Final, TypeAlias

from celpy import celtypes
from celpy.evaluation import Activation, CELEvalError, CELUnsupportedError, Evaluator
from lark import Token, Tree
from lark.tree import Meta

from penstock.expr.cel import portable_functions as functions
from penstock.expr.cel.expression import Bindings, Run
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
from penstock.expr.errors import EvaluationError, LimitExceeded

MAX_STEPS: Final = 10_000

_Tree: TypeAlias = Tree[Any]
_LITERALS: Final[Mapping[str, Callable[[Any], object]]] = {
    "int": celtypes.IntType,
    "uint": celtypes.UintType,
    "double": celtypes.DoubleType,
    "string": celtypes.StringType,
    "bool": celtypes.BoolType,
    "null": lambda _: None,
}
_RULES: Final = {
    "==": ("relation", "relation_eq"),
    "!=": ("relation", "relation_ne"),
    "<": ("relation", "relation_lt"),
    "<=": ("relation", "relation_le"),
    ">": ("relation", "relation_gt"),
    ">=": ("relation", "relation_ge"),
    "in": ("relation", "relation_in"),
    "+": ("addition", "addition_add"),
    "-": ("addition", "addition_sub"),
    "*": ("multiplication", "multiplication_mul"),
    "/": ("multiplication", "multiplication_div"),
    "%": ("multiplication", "multiplication_mod"),
}
_NOWHERE: Final = Meta()  # type: ignore[no-untyped-call]
_NOWHERE.line = _NOWHERE.column = 1  # the library wants a position for its errors; ours name what failed


class PortableEngine:
    name: Final = f"cel-python {version('cel-python')}"

    def compile(self, source: str, tree: Node) -> Run:  # noqa: ARG002 - the other engine wants the text
        program = _tree(tree)

        def run(data: Bindings) -> object:
            activation = Activation(functions=functions.FUNCTIONS)
            try:
                values = {name: to_cel(value) for name, value in data.items()}
                return from_cel(_Budgeted(program, activation, [MAX_STEPS], values).evaluate())
            except CELEvalError as error:
                raise EvaluationError(language="CEL", reason=str(error.args[0])) from None
            except (CELUnsupportedError, TypeError, ValueError, ArithmeticError) as error:
                raise EvaluationError(language="CEL", reason=str(error)) from None
            except RecursionError:
                raise LimitExceeded(language="CEL", limit="depth", reason="the data nests too deeply") from None

        return run


def to_cel(value: object) -> Any:  # noqa: ANN401, PLR0911 - cel-python's value types have no common base
    match value:
        case None:
            return None
        case bool():
            return celtypes.BoolType(value)
        case int():
            return celtypes.IntType(value)
        case float():
            return celtypes.DoubleType(value)
        case str():
            return celtypes.StringType(value)
        case list():
            return celtypes.ListType([to_cel(item) for item in value])
        case dict():
            return celtypes.MapType({celtypes.StringType(key): to_cel(item) for key, item in value.items()})
        case datetime():
            return celtypes.TimestampType(value)
        case _:
            raise EvaluationError(language="CEL", reason=f"the data holds a {type(value).__name__}, which is not JSON")


def from_cel(value: Any) -> object:  # noqa: ANN401, PLR0911 - see to_cel
    match value:
        case celtypes.BoolType():
            return bool(value)
        case int():
            return int(value)
        case float():
            return float(value)
        case str():
            return str.__str__(value)
        case list():
            return [from_cel(item) for item in value]
        case dict():
            return {from_cel(key): from_cel(item) for key, item in value.items()}
        case datetime():
            return datetime.fromisoformat(value.isoformat())
        case timedelta():
            return timedelta(seconds=value.total_seconds())
        case _:
            return value


class _Budgeted(Evaluator):
    """The library's evaluator, with a step budget and the variables of loops in a plain dict."""

    def __init__(self, ast: _Tree, activation: Activation, steps: list[int], bound: dict[str, Any]) -> None:
        super().__init__(ast, activation)
        self._steps = steps
        self._bound = bound

    def ident_value(self, name: str, root_scope: bool = False) -> Any:  # noqa: ANN401 - as in the library
        return self._bound[name] if name in self._bound else super().ident_value(name, root_scope)

    def _visit_tree(self, tree: _Tree) -> Any:  # noqa: ANN401 - as in lark
        self._steps[0] -= 1
        if self._steps[0] < 0:
            raise LimitExceeded(language="CEL", limit=f"{MAX_STEPS} steps", reason="it took too many steps")
        return super()._visit_tree(tree)

    def literal(self, tree: _Tree) -> Any:  # noqa: ANN401 - as in the library
        return tree.children[0]

    def has_field(self, tree: _Tree) -> Any:  # noqa: ANN401 - as in the library
        operand = self.visit(tree.children[0])
        if isinstance(operand, CELEvalError):
            return operand
        if not isinstance(operand, celtypes.MapType):
            return functions.failed("has() asks for a field of something that has none")
        return celtypes.BoolType(str(tree.children[1]) in operand)

    def member_dot_arg(self, tree: _Tree) -> Any:  # noqa: ANN401 - as in the library
        target, function, *arguments = tree.children
        if function not in MACROS:
            return super().member_dot_arg(tree)
        items = self.visit(target)
        if isinstance(items, CELEvalError):
            return items
        if not isinstance(items, celtypes.ListType | celtypes.MapType):
            return functions.failed(f"{function}() goes over a list or an object")
        variable, body = arguments[0].children
        name = str(variable.children[0].children[0])
        results = ((item, self._with(name, item, body)) for item in items)
        return _FOLDS[str(function)](results)

    def _with(self, name: str, item: Any, body: _Tree) -> Any:  # noqa: ANN401 - see to_cel
        return _Budgeted(body, self.base_activation, self._steps, {**self._bound, name: item}).visit(body)


_Results: TypeAlias = Iterable[tuple[Any, Any]]


def _all(results: _Results) -> object:
    return reduce(functions.both(decides=False), (result for _, result in results), celtypes.BoolType(True))


def _exists(results: _Results) -> object:
    return reduce(functions.both(decides=True), (result for _, result in results), celtypes.BoolType(False))


def _filter(results: _Results) -> object:
    kept = []
    for item, result in results:
        if not isinstance(result, celtypes.BoolType):
            return result if isinstance(result, CELEvalError) else functions.failed("the test is not a boolean")
        if result:
            kept.append(item)
    return celtypes.ListType(kept)


def _exists_one(results: _Results) -> object:
    kept = _filter(results)
    return celtypes.BoolType(len(kept) == 1) if isinstance(kept, celtypes.ListType) else kept


def _map(results: _Results) -> object:
    values = [result for _, result in results]
    return next((value for value in values if isinstance(value, CELEvalError)), celtypes.ListType(values))


_FOLDS: Final = {"all": _all, "exists": _exists, "exists_one": _exists_one, "filter": _filter, "map": _map}


def _tree(node: Node) -> _Tree:  # noqa: C901, PLR0911 - one line per kind of node
    """Our tree in the shapes the library's evaluator knows."""
    match node:
        case Literal():
            return _rule("literal", [_LITERALS[node.kind](node.value)])
        case Name(name=name) if name in functions.TYPES:
            return _rule("literal", [functions.TYPES[name]])
        case Name():
            return _primary("ident", [Token("IDENT", node.name)])
        case Select():
            return _rule("member_dot", [_tree(node.operand), Token("IDENT", node.field)])
        case Index():
            return _rule("member_index", [_tree(node.operand), _tree(node.index)])
        case ListOf():
            return _primary("list_lit", [_rule("exprlist", [*map(_tree, node.items)])] if node.items else [])
        case MapOf():
            parts = [_tree(part) for entry in node.entries for part in entry]
            return _primary("map_lit", [_rule("mapinits", parts)] if parts else [])
        case Unary():
            return _rule("unary", [_rule("unary_not" if node.op == "!" else "unary_neg", []), _tree(node.operand)])
        case Ternary():
            return _rule("expr", [_tree(node.test), _tree(node.then), _tree(node.otherwise)])
        case Binary(op="||" | "&&"):
            rule = "conditionalor" if node.op == "||" else "conditionaland"
            return _rule(rule, [_tree(node.left), _tree(node.right)])
        case Binary():
            rule, side = _RULES[node.op]
            return _rule(rule, [_rule(side, [_tree(node.left)]), _tree(node.right)])
        case Call():
            return _call(node)


def _rule(name: str, children: list[Any]) -> _Tree:
    return Tree(name, children, _NOWHERE)


def _primary(rule: str, children: list[Any]) -> _Tree:
    return _rule("primary", [_rule(rule, children)])


def _call(node: Call) -> _Tree:
    if node.function == "has" and isinstance(asked := node.args[0], Select):
        return _rule("has_field", [_tree(asked.operand), Token("IDENT", asked.field)])
    name = Token("IDENT", node.function)
    if node.target is None:
        return _rule("primary", [_rule("ident_arg", [name, Tree("exprlist", [*map(_tree, node.args)])])])
    target, args = node.target, node.args
    if node.function == "map" and len(args) == 3:  # noqa: PLR2004 - map(x, test, value): the library has no such form
        target = Call("filter", target, args[:2], node.start)
        args = (args[0], args[2])
    arguments = [_rule("exprlist", [*map(_tree, args)])] if args else []
    return _rule("member_dot_arg", [_tree(target), name, *arguments])
