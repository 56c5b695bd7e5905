"""CEL source to a tree.

The engines parse for themselves. This tree is what Penstock looks at before them: what an expression reads, how
deep it nests, which functions it calls; and it gives both engines one grammar and one style of error.
"""

from __future__ import annotations

from typing import Final, NoReturn, TypeAlias

import msgspec

from penstock.expr.cel.lex import Token, fail, tokenize
from penstock.expr.errors import ExpressionTooComplex

MAX_SOURCE: Final = 4096
MAX_DEPTH: Final = 32
MACROS: Final = frozenset({"all", "exists", "exists_one", "filter", "map"})

_MAX_INT: Final = 2**63 - 1
_MAX_UINT: Final = 2**64 - 1
PRECEDENCE: Final = {
    "||": 1,
    "&&": 2,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), 3),
    **dict.fromkeys(("+", "-"), 4),
    **dict.fromkeys(("*", "/", "%"), 5),
}
_RESERVED: Final = frozenset(
    {"as", "break", "const", "continue", "else", "for", "function", "if", "import", "let"}
    | {"package", "namespace", "return", "var", "void", "while"}
)
_CONSTANTS: Final = {"true": ("bool", True), "false": ("bool", False), "null": ("null", None)}
_A_VALUE: Final = "a value: a variable, a literal, `(`, `[`, `{`, `-` or `!`"


class Literal(msgspec.Struct, frozen=True):
    kind: str
    value: int | float | str | bool | None
    text: str
    start: int


class Name(msgspec.Struct, frozen=True):
    name: str
    start: int


class Select(msgspec.Struct, frozen=True):
    operand: Node
    field: str
    start: int


class Index(msgspec.Struct, frozen=True):
    operand: Node
    index: Node
    start: int


class Call(msgspec.Struct, frozen=True):
    """A function, a method (it has a target) or a macro."""

    function: str
    target: Node | None
    args: tuple[Node, ...]
    start: int


class ListOf(msgspec.Struct, frozen=True):
    items: tuple[Node, ...]
    start: int


class MapOf(msgspec.Struct, frozen=True):
    entries: tuple[tuple[Node, Node], ...]
    start: int


class Unary(msgspec.Struct, frozen=True):
    op: str
    operand: Node
    start: int


class Binary(msgspec.Struct, frozen=True):
    op: str
    left: Node
    right: Node
    start: int


class Ternary(msgspec.Struct, frozen=True):
    test: Node
    then: Node
    otherwise: Node
    start: int


Node: TypeAlias = Literal | Name | Select | Index | Call | ListOf | MapOf | Unary | Binary | Ternary


def children(node: Node) -> tuple[Node, ...]:  # noqa: PLR0911 - one line per kind of node
    match node:
        case Select():
            return (node.operand,)
        case Index():
            return (node.operand, node.index)
        case Call():
            return node.args if node.target is None else (node.target, *node.args)
        case ListOf():
            return node.items
        case MapOf():
            return tuple(part for entry in node.entries for part in entry)
        case Unary():
            return (node.operand,)
        case Binary():
            return (node.left, node.right)
        case Ternary():
            return (node.test, node.then, node.otherwise)
        case _:
            return ()


def parse(source: str) -> Node:
    if len(source.encode()) > MAX_SOURCE:
        raise ExpressionTooComplex(language="CEL", reason="its source is too long", limit=f"{MAX_SOURCE} bytes")
    parser = _Parser(source)
    tree = parser.expression()
    if parser.here.kind != "end":
        parser.fail("an operator or the end")
    return tree


class _Parser:
    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens = tokenize(source)
        self.at = 0
        self.depth = 0

    @property
    def here(self) -> Token:
        return self.tokens[self.at]

    def fail(self, expected: str) -> NoReturn:
        found = f"`{self.here.text}`" if self.here.text else "the end"
        fail(self.source, self.here.start, f"found {found}", expected)

    def take(self) -> Token:
        token = self.here
        self.at += 1
        return token

    def accept(self, symbol: str) -> bool:
        found = self.here.kind == "symbol" and self.here.text == symbol
        self.at += found
        return found

    def expect(self, symbol: str) -> None:
        if not self.accept(symbol):
            self.fail(f"`{symbol}`")

    def expression(self) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ExpressionTooComplex(language="CEL", reason="it nests too deeply", limit=f"{MAX_DEPTH} levels")
        start = self.here.start
        node = self.binary(1)
        if self.accept("?"):
            then = self.binary(1)
            self.expect(":")
            node = Ternary(node, then, self.expression(), start)
        self.depth -= 1
        return node

    def binary(self, level: int) -> Node:
        left = self.unary()
        while (precedence := PRECEDENCE.get(self.here.text, 0)) >= level and self.here.kind in {"symbol", "name"}:
            op = self.take()
            left = Binary(op.text, left, self.binary(precedence + 1), op.start)
        return left

    def unary(self) -> Node:
        signs: list[Token] = []
        while self.here.kind == "symbol" and self.here.text in {"!", "-"}:
            signs.append(self.take())
        if len(signs) > MAX_DEPTH:
            raise ExpressionTooComplex(language="CEL", reason="it nests too deeply", limit=f"{MAX_DEPTH} levels")
        negative = bool(signs) and signs[-1].text == "-" and self.here.kind in {"int", "double"}
        node = self.member(negative=negative)
        for sign in reversed(signs[:-1] if negative else signs):
            node = Unary(sign.text, node, sign.start)
        return node

    def member(self, *, negative: bool) -> Node:
        node = self.primary(negative=negative)
        while True:
            start = self.here.start
            if self.accept("."):
                name = self.name("a field name")
                node = self.call(name, node, start) if self.accept("(") else Select(node, name.text, name.start)
            elif self.accept("["):
                node = Index(node, self.expression(), start)
                self.expect("]")
            else:
                return node

    def primary(self, *, negative: bool) -> Node:
        token = self.here
        if token.kind in {"int", "uint", "double", "string"}:
            return self.literal(negative=negative)
        if token.kind == "name":
            return self.variable()
        if self.accept("("):
            node = self.expression()
            self.expect(")")
            return node
        if self.accept("["):
            return ListOf(self.sequence("]"), token.start)
        if self.accept("{"):
            return MapOf(self.entries(), token.start)
        return self.fail(_A_VALUE)

    def literal(self, *, negative: bool) -> Node:
        token = self.take()
        value = token.value
        if isinstance(value, int | float) and negative:
            value = -value
        limits = {"int": (-_MAX_INT - 1, _MAX_INT), "uint": (0, _MAX_UINT)}.get(token.kind)
        if limits and isinstance(value, int) and not limits[0] <= value <= limits[1]:
            fail(self.source, token.start, f"{token.text} does not fit 64 bits", "a smaller number")
        return Literal(token.kind, value, f"-{token.text}" if negative else token.text, token.start)

    def variable(self) -> Node:
        if self.here.text in _CONSTANTS:
            kind, value = _CONSTANTS[self.here.text]
            token = self.take()
            return Literal(kind, value, token.text, token.start)
        token = self.name("a variable")
        if self.accept("("):
            return self.call(token, None, token.start)
        return Name(token.text, token.start)

    def name(self, expected: str) -> Token:
        token = self.here
        keyword = token.text == "in" or token.text in _CONSTANTS
        selected = self.at > 0 and self.tokens[self.at - 1].text == "."
        if token.kind != "name" or keyword or (token.text in _RESERVED and not selected):
            self.fail(expected)
        return self.take()

    def call(self, name: Token, target: Node | None, start: int) -> Call:
        return Call(name.text, target, self.sequence(")"), name.start if target is None else start)

    def sequence(self, closing: str) -> tuple[Node, ...]:
        items: list[Node] = []
        while not self.accept(closing):
            items.append(self.expression())
            if not self.accept(","):
                self.expect(closing)
                break
        return tuple(items)

    def entries(self) -> tuple[tuple[Node, Node], ...]:
        items: list[tuple[Node, Node]] = []
        while not self.accept("}"):
            key = self.expression()
            self.expect(":")
            items.append((key, self.expression()))
            if not self.accept(","):
                self.expect("}")
                break
        return tuple(items)
