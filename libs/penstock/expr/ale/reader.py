"""Source text to forms, without recursion: the depth of its brackets is the source's, not Python's."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from penstock.expr.ale.faults import ComplexityError, SourceError
from penstock.expr.ale.limits import Limits
from penstock.expr.ale.syntax import DottedForm, Form, ListForm, Literal, Name, ObjectForm, VectorForm
from penstock.expr.ale.values import Keyword

_TOKEN = re.compile(
    r"""
      (?P<space>   [\s]+ | ;[^\n]* )
    | (?P<comment> \#\| )
    | (?P<open>    [(\[{] )
    | (?P<close>   [)\]}] )
    | (?P<string>  "[^"\\]*(?:\\.[^"\\]*)*"? )
    | (?P<quote>   ' )
    | (?P<foreign> [`,@] | \#\{ )
    | (?P<atom>    [^\s()\[\]{}";]+ )
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"#\||\|#")
_NUMBER = re.compile(
    r"""
      (?P<ratio>   [+-]?\d+/\d+ )
    | (?P<based>   [+-]?0(?:[xX][0-9a-fA-F]+|[bB][01]+|[0-7]+) )
    | (?P<integer> [+-]?(?:0|[1-9]\d*) )
    | (?P<float>   [+-]?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)? )
    """,
    re.VERBOSE | re.ASCII,
)
_LOOKS_NUMERIC = re.compile(r"[+-]?\d", re.ASCII)
_LONGEST_NUMBER = 320  # characters: any float, and integers up to the default number of bits
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_CONSTANTS = {"true": True, "#t": True, "false": False, "#f": False, "null": None, "nil": None}
_SURROGATES = range(0xD800, 0xE000)  # halves of characters, which no encoder can write alone
_OPENING = frozenset(("open", "quote"))
_CLOSER = {"(": ")", "[": "]", "{": "}"}


class _Open:
    """A bracket, or a quote, that waits for the forms it will hold."""

    __slots__ = ("at", "bracket", "dot", "items")

    def __init__(self, bracket: str, at: int) -> None:
        self.bracket = bracket
        self.at = at
        self.items: list[Form] = []
        self.dot: int | None = None  # how many items came before a dot


def read(source: str, limits: Limits) -> tuple[Form, ...]:
    """All the forms of a source."""
    if len(source) > limits.source_bytes or len(source.encode(errors="replace")) > limits.source_bytes:
        raise ComplexityError(0, "the source is too long", f"{limits.source_bytes} bytes")
    stack = [_Open("", 0)]
    at = 0
    while at < len(source):
        token = _TOKEN.match(source, at)
        if token is None:  # pragma: no cover - the alternatives cover every character
            raise SourceError(at, "unreadable character", "a form")
        if token.lastgroup == "comment":
            at = _skip_comment(source, at)
            continue
        if token.lastgroup in _OPENING and len(stack) > limits.nesting:
            raise ComplexityError(at, "the source is nested too deep", f"{limits.nesting} levels")
        if token.lastgroup != "space":
            _take(stack, token.lastgroup, token.group(), at)
        at = token.end()
    top, *opened = stack
    if opened:
        _unclosed(opened[-1])
    return tuple(top.items)


def _take(stack: list[_Open], kind: str | None, text: str, at: int) -> None:
    if kind in _OPENING:
        stack.append(_Open(text, at))
    elif kind == "close":
        _add(stack, _closed(stack, text, at))
    elif kind == "string":
        _add(stack, Literal(_string(text, at), at))
    elif kind == "foreign":
        raise SourceError(at, f"`{text}` has no meaning here", "no syntax quotes and no sets")
    elif text == ".":
        _dot(stack[-1], at)
    else:
        _add(stack, _atom(text, at))


def parse_number(text: str) -> int | float | Fraction | None:
    """The number that `text` spells, or None; also what the builtin `number` accepts."""
    found = _NUMBER.fullmatch(text) if len(text) <= _LONGEST_NUMBER else None
    if found is None:
        return None
    if found.lastgroup == "ratio":
        above, _, below = text.partition("/")
        return None if int(below) == 0 else whole(Fraction(int(above), int(below)))
    if found.lastgroup == "based":
        digits = text.lstrip("+-")
        base = {"x": 16, "b": 2}.get(digits[1].lower(), 8)
        return int(text[0] + digits if text[0] == "-" else digits, base)
    if found.lastgroup == "integer":
        return int(text)
    number = float(text)
    return number if math.isfinite(number) else None


def whole(number: Fraction) -> int | Fraction:
    """A ratio is kept only while it is one."""
    return number.numerator if number.denominator == 1 else number


def _skip_comment(source: str, start: int) -> int:
    """The end of a `#| … |#`, which may hold others."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(source, start):
        depth += 1 if edge.group() == "#|" else -1
        if depth == 0:
            return edge.end()
    raise SourceError(start, "the comment is not closed", "`|#`")


def _add(stack: list[_Open], form: Form) -> None:
    """Put a finished form where it belongs; a quote is finished by the one form it waits for."""
    while stack[-1].bracket == "'":
        quote = stack.pop()
        form = ListForm((Name("quote", quote.at), form), quote.at)
    stack[-1].items.append(form)


def _closed(stack: list[_Open], closer: str, at: int) -> Form:
    if len(stack) == 1:
        raise SourceError(at, f"`{closer}` closes nothing", "a form or the end")
    opened = stack.pop()
    if opened.bracket == "'":
        raise SourceError(at, "the quote has no form", "a form after `'`")
    if _CLOSER[opened.bracket] != closer:
        raise SourceError(at, f"`{closer}` cannot close `{opened.bracket}`", f"`{_CLOSER[opened.bracket]}`")
    items = tuple(opened.items)
    if opened.dot is not None:
        if len(items) != opened.dot + 1:
            raise SourceError(at, "a dot needs one form after it", "`(first . rest)`")
        return DottedForm(items[:-1], items[-1], opened.at)
    if opened.bracket == "(":
        return ListForm(items, opened.at)
    if opened.bracket == "[":
        return VectorForm(items, opened.at)
    if len(items) % 2:
        raise SourceError(opened.at, "an object key has no value", "an even number of forms in `{}`")
    return ObjectForm(items, opened.at)


def _dot(opened: _Open, at: int) -> None:
    if opened.bracket != "(" or not opened.items or opened.dot is not None:
        raise SourceError(at, "a dot is out of place", "`(first . rest)`")
    opened.dot = len(opened.items)


def _unclosed(opened: _Open) -> None:
    if opened.bracket == "'":
        raise SourceError(opened.at, "the quote has no form", "a form after `'`")
    raise SourceError(opened.at, f"`{opened.bracket}` is not closed", f"`{_CLOSER[opened.bracket]}`")


def _atom(text: str, at: int) -> Form:
    if text in _CONSTANTS:
        return Literal(_CONSTANTS[text], at)
    if text[0] == ":" and len(text) > 1:
        return Literal(Keyword(text[1:]), at)
    if _LOOKS_NUMERIC.match(text):
        number = parse_number(text)
        if number is None:
            raise SourceError(at, f"`{text[:40]}` is not a number", "a number such as 42, -1.5, 2e3, 1/3 or 0xff")
        return Literal(number, at)
    if text[0] in "#|":
        raise SourceError(at, f"`{text[:40]}` has no meaning here", "`#t`, `#f` or `#| comment |#`")
    return Name(text, at)


def _string(text: str, at: int) -> str:
    if len(text) == 1 or text[-1] != '"' or _ends_escaped(text):
        raise SourceError(at, "the string is not closed", '`"`')
    return _ESCAPE.sub(lambda found: _unescape(found, at), text[1:-1]) if "\\" in text else text[1:-1]


def _ends_escaped(text: str) -> bool:
    before_quote = text[1:-1]
    return (len(before_quote) - len(before_quote.rstrip("\\"))) % 2 == 1


def _unescape(found: re.Match[str], at: int) -> str:
    code = found.group(1)
    if code in _ESCAPES:
        return _ESCAPES[code]
    if len(code) > 1 and int(code[1:], 16) not in _SURROGATES:
        return chr(int(code[1:], 16))
    raise SourceError(
        at + 1 + found.start(), f"unknown escape `{found.group()[:6]}`", 'one of \\" \\\\ \\n \\t \\r \\b \\f \\uXXXX'
    )
