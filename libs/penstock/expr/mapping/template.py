"""`{{ }}` in strings: where the expressions start and end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias, TypeVar

from penstock.expr.errors import CompileError

OPEN: Final = "{{"
CLOSE: Final = "}}"

_T = TypeVar("_T")
Part: TypeAlias = str | _T


def split(text: str, compile_expression: Callable[[str], _T]) -> list[Part[_T]]:
    """Literal text and compiled expressions in turn. Errors are placed in the whole text."""
    parts: list[Part[_T]] = []
    at = 0
    while (start := text.find(OPEN, at)) >= 0:
        if start > at:
            parts.append(text[at:start])
        part, at = _expression(text, start, compile_expression)
        parts.append(part)
    if at < len(text):
        parts.append(text[at:])
    return parts


def _expression(text: str, start: int, compile_expression: Callable[[str], _T]) -> tuple[_T, int]:
    """The shortest stretch that compiles: an expression may itself hold `}}`."""
    first: CompileError | None = None
    begin = start + len(OPEN)
    end = text.find(CLOSE, begin)
    while end >= 0:
        inner = text[begin:end]
        try:
            return compile_expression(inner.strip()), end + len(CLOSE)
        except CompileError as error:
            lead = begin + len(inner) - len(inner.lstrip())
            first = first or _placed(error, text, lead)
        end = text.find(CLOSE, end + 1)
    raise first or _placed(
        CompileError(language="template", line=1, column=1, reason="`{{` is not closed", expected="`}}`"), text, start
    )


def _placed(error: CompileError, text: str, offset: int) -> CompileError:
    """The same error, with its place in the text around the expression."""
    line, column = error.attributes.get("line"), error.attributes.get("column")
    if not isinstance(line, int) or not isinstance(column, int):
        return error
    if line == 1:
        column += offset - text.rfind("\n", 0, offset) - 1
    return type(error)(**{**error.attributes, "line": line + text.count("\n", 0, offset), "column": column})
