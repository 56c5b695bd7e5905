"""JSON with `//` comments and trailing commas, as people write it: strict in everything else."""

from __future__ import annotations

import re
from json.decoder import scanstring  # type: ignore[attr-defined]  # the stubs forget it
from typing import Any, Final, NoReturn

from penstock.core.definition import Place
from penstock.core.definition.problem import Path
from penstock.notation.errors import NotationError

MAX_DEPTH: Final = 100

_BLANK: Final = re.compile(r"(?:[ \t\r\n]+|//[^\n]*)*")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?(?![\w.])")
_WORD: Final = re.compile(r"true|false|null")
_WORDS: Final = {"true": True, "false": False, "null": None}


def read_json(text: str) -> tuple[Any, dict[Path, Place]]:
    return _Reader(text).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line = 1
        self._line_start = 0
        self._counted = 0
        self._places: dict[Path, Place] = {}

    def read(self) -> tuple[Any, dict[Path, Place]]:
        self._skip()
        data = self._value((), 0)
        self._skip()
        if self._at < len(self._text):
            self._fail("something follows the end")
        return data, self._places

    def _value(self, path: Path, depth: int) -> Any:  # noqa: ANN401 - any JSON
        text, at = self._text, self._at
        first = text[at : at + 1]
        self._places[path] = self._place(at + 1 if first == '"' else at)
        if depth > MAX_DEPTH:
            self._fail("it nests too deeply")
        if first == "{":
            return self._object(path, depth)
        if first == "[":
            return self._list(path, depth)
        if first == '"':
            return self._string()
        if number := _NUMBER.match(text, at):
            self._at = number.end()
            return float(number[0]) if number[1] or number[2] else self._whole(number[0])
        word = _WORD.match(text, at)
        if not word:
            self._fail("a value was expected")
        self._at = word.end()
        return _WORDS[word[0]]

    def _object(self, path: Path, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        self._next("{")
        while self._text[self._at : self._at + 1] != "}":
            if self._text[self._at : self._at + 1] != '"':
                self._fail("a key in quotes was expected")
            start = self._at
            key = self._string()
            if key in result:
                self._at = start
                self._fail(f"the key `{key}` is there twice")
            self._skip()
            self._next(":")
            result[key] = self._value((*path, key), depth + 1)
            self._separator("}")
        self._at += 1
        return result

    def _list(self, path: Path, depth: int) -> list[Any]:
        result: list[Any] = []
        self._next("[")
        while self._text[self._at : self._at + 1] != "]":
            result.append(self._value((*path, len(result)), depth + 1))
            self._separator("]")
        self._at += 1
        return result

    def _string(self) -> str:
        try:
            value, self._at = scanstring(self._text, self._at + 1, True)
        except ValueError as error:
            self._fail(str(error).split(":", 1)[0].lower())
        return str(value)

    def _whole(self, digits: str) -> int:
        try:
            return int(digits)
        except ValueError:
            self._fail("the number is too long")

    def _separator(self, end: str) -> None:
        self._skip()
        if self._text[self._at : self._at + 1] != end:
            self._next(",")

    def _next(self, expected: str) -> None:
        if self._text[self._at : self._at + 1] != expected:
            self._fail(f"`{expected}` was expected")
        self._at += 1
        self._skip()

    def _skip(self) -> None:
        if blank := _BLANK.match(self._text, self._at):
            self._at = blank.end()

    def _place(self, at: int) -> Place:
        """Lines are counted once, as reading goes on."""
        lines = self._text.count("\n", self._counted, at)
        if lines:
            self._line += lines
            self._line_start = self._text.rfind("\n", 0, at) + 1
        self._counted = max(self._counted, at)
        return Place(self._line, at - self._line_start + 1)

    def _fail(self, reason: str) -> NoReturn:
        line = self._text.count("\n", 0, self._at) + 1
        column = self._at - self._text.rfind("\n", 0, self._at)
        raise NotationError(language="JSON", line=line, column=column, reason=reason)
