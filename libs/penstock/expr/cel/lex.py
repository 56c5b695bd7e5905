"""CEL source to tokens, and literals to values."""

from __future__ import annotations

import re
from typing import Final, Literal, NoReturn, TypeAlias

import msgspec

from penstock.expr.errors import CompileError

Kind: TypeAlias = Literal["string", "double", "int", "uint", "name", "symbol", "end"]

_TOKEN: Final = re.compile(
    r"""
      (?P<space>  (?:[\t\n\f\r ]|//[^\n]*)+ )
    | (?P<raw>    [rR] (?: \"{3}.*?\"{3} | '{3}.*?'{3} | \"[^\"\n\r]*\" | '[^'\n\r]*' ) )
    | (?P<string> \"{3}(?:\\.|[^\\])*?\"{3} | '{3}(?:\\.|[^\\])*?'{3}
                | \"(?:\\.|[^\\\"\n\r])*\"  | '(?:\\.|[^\\'\n\r])*' )
    | (?P<double> \d+\.\d+(?:[eE][+-]?\d+)? | \d+[eE][+-]?\d+ | \.\d+(?:[eE][+-]?\d+)? )
    | (?P<uint>   (?:0x[0-9a-fA-F]+|\d+)[uU] )
    | (?P<int>    0x[0-9a-fA-F]+|\d+ )
    | (?P<name>   [_a-zA-Z][_a-zA-Z0-9]* )
    | (?P<symbol> && | \|\| | == | != | <= | >= | [-+*/%<>!?:.,()\[\]{}] )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL
)
_PLAIN_ESCAPES: Final = dict(zip("abfnrtv\\?\"'`", "\a\b\f\n\r\t\v\\?\"'`", strict=True))
_TRIPLE: Final = 3


class Token(msgspec.Struct, frozen=True):
    kind: Kind
    text: str
    start: int
    value: int | float | str | None = None


def fail(source: str, start: int, reason: str, expected: str) -> NoReturn:
    """Refuse `source` at an offset, named as people count: line and column from one."""
    line = source.count("\n", 0, start) + 1
    column = start - source.rfind("\n", 0, start)
    raise CompileError(language="CEL", line=line, column=column, reason=reason, expected=expected)


def tokenize(source: str) -> list[Token]:
    tokens: list[Token] = []
    at = 0
    while at < len(source):
        match = _TOKEN.match(source, at)
        if match is None:
            if source[at] in "\"'":
                fail(source, at, "the string is not closed", "a closing quote")
            fail(source, at, f"`{source[at]}` means nothing here", "an operator, a name or a literal")
        if match.lastgroup != "space":
            tokens.append(_token(source, match))
        at = match.end()
    tokens.append(Token("end", "", len(source)))
    return tokens


def _token(source: str, match: re.Match[str]) -> Token:  # noqa: PLR0911 - one line per kind
    group, text, start = match.lastgroup, match.group(), match.start()
    match group:
        case "double":
            return Token("double", text, start, float(text))
        case "int":
            return Token("int", text, start, int(text, 0) if "x" in text else int(text))
        case "uint":
            digits = text[:-1]
            return Token("uint", text, start, int(digits, 0) if "x" in digits else int(digits))
        case "raw":
            return Token("string", text, start, _unquote(text[1:]))
        case "string":
            return Token("string", text, start, _unescape(source, start, _unquote(text)))
        case "name":
            return Token("name", text, start)
        case _:
            return Token("symbol", text, start)


def _unquote(text: str) -> str:
    quotes = _TRIPLE if len(text) >= 2 * _TRIPLE and text[:_TRIPLE] in {'"""', "'''"} else 1
    return text[quotes:-quotes]


def _unescape(source: str, start: int, body: str) -> str:
    def escape(match: re.Match[str]) -> str:
        *hexa, octal, plain = match.groups()
        digits = next(filter(None, hexa), None)
        if digits is None and octal is None:
            if plain not in _PLAIN_ESCAPES:
                fail(source, start, f"`\\{plain}` is no escape", r"one of \n \t \\ \" \' \xHH \uHHHH")
            return _PLAIN_ESCAPES[plain]
        code = int(digits, 16) if digits else int(octal, 8)
        try:
            chr(code).encode()
        except (ValueError, UnicodeEncodeError):
            fail(source, start, "the escape names no character", "a Unicode code point")
        return chr(code)

    return _ESCAPE.sub(escape, body)
