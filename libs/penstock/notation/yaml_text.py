"""YAML, read by the rules of its version 1.2: `on` and `no` are words, and keys are always text.

Anchors and `<<` work; how much they may unfold to is bounded.
"""

from __future__ import annotations

import re
from typing import Any, Final, NoReturn

import yaml

from penstock.core.definition import Place
from penstock.core.definition.problem import Path
from penstock.notation.errors import NotationError

MAX_DEPTH: Final = 100
MAX_VALUES: Final = 1_000_000

_MERGE: Final = "<<"
_TAGS: Final = {
    f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "timestamp", "merge", "value")
}
_INTEGER: Final = re.compile(r"[-+]?\d{1,300}|0o[0-7]{1,100}|0x[0-9a-fA-F]{1,100}")
_FLOAT: Final = re.compile(r"[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?")
_WORDS: Final = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


def read_yaml(text: str) -> tuple[Any, dict[Path, Place]]:
    try:
        loader = yaml.CSafeLoader(text)
        try:
            root = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = str(getattr(error, "problem", None) or "it cannot be read")
        _fail(mark, reason)
    except RecursionError:
        _fail(None, "it nests too deeply")
    reader = _Reader()
    return (None if root is None else reader.value(root, (), 0)), reader.places


class _Reader:
    def __init__(self) -> None:
        self.places: dict[Path, Place] = {}

    def value(self, node: yaml.Node, path: Path, depth: int) -> Any:  # noqa: ANN401 - any JSON
        self.places[path] = _place(node)
        if depth > MAX_DEPTH or len(self.places) > MAX_VALUES:
            _fail(node.start_mark, "it nests too deeply" if depth > MAX_DEPTH else "its anchors unfold to too much")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, index), depth + 1) for index, item in enumerate(node.value)]
        return _scalar(node) if isinstance(node, yaml.ScalarNode) else None

    def _mapping(self, node: yaml.MappingNode, path: Path, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key, item in node.value:
            if not isinstance(key, yaml.ScalarNode):
                _fail(key.start_mark, "a key must be text")
            if key.value == _MERGE and not key.style:
                sources = item.value if isinstance(item, yaml.SequenceNode) else [item]
                for source in sources:
                    if not isinstance(source, yaml.MappingNode):
                        _fail(source.start_mark, "`<<` takes an object")
                    merged = {**self.value(source, path, depth + 1), **merged}
            elif key.value in result:
                _fail(key.start_mark, f"the key `{key.value}` is there twice")
            else:
                result[key.value] = self.value(item, (*path, key.value), depth + 1)
        return {**merged, **result} if merged else result


def _scalar(node: yaml.ScalarNode) -> Any:  # noqa: ANN401 - any JSON
    text = str(node.value)
    if node.tag not in _TAGS:
        _fail(node.start_mark, f"there is no tag `{node.tag}` here")
    if node.style:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        base = {"0o": 8, "0x": 16}.get(text[:2], 10)
        return int(text.lstrip("+"), base)
    return _float(node, text) if _FLOAT.fullmatch(text) else text


def _float(node: yaml.ScalarNode, text: str) -> float:
    number = float(text)
    if number in {float("inf"), float("-inf")}:
        _fail(node.start_mark, "the number is too large")
    return number


def _place(node: yaml.Node) -> Place:
    """Where the content begins: behind a quote, on the line after `|`."""
    mark = node.start_mark
    if isinstance(node, yaml.ScalarNode) and node.style in {"|", ">"}:
        return Place(mark.line + 2, 1)
    quoted = isinstance(node, yaml.ScalarNode) and node.style in {"'", '"'}
    return Place(mark.line + 1, mark.column + 1 + quoted)


def _fail(mark: yaml.Mark | None, reason: str) -> NoReturn:
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    raise NotationError(language="YAML", line=line, column=column, reason=reason)
