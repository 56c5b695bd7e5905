"""A JSONPath query: parsed strictly, refused where it could run away, run as plain functions.

`python-jsonpath` knows the whole of RFC 9535 but keeps the path of every node it touches, which costs ten times
what finding the values does; conditions need the values only. So its tree is taken, and walked here.

Unbounded, `$..*..*..*` took fifteen seconds on 631 bytes. With at most one descendant segment, none in a filter,
and few selectors per bracket, a query visits a multiple of the document at worst.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from math import prod
from typing import Final, TypeAlias

import msgspec
from jsonpath import JSONPathEnvironment, selectors
from jsonpath import filter as rfc
from jsonpath.exceptions import JSONPathError
from jsonpath.path import JSONPath
from jsonpath.segments import JSONPathRecursiveDescentSegment, JSONPathSegment

from penstock.core.model.evaluate import Json, Path
from penstock.expr.errors import CompileError, EvaluationError, ExpressionTooComplex, LimitExceeded
from penstock.expr.jsonpath.filters import Find, Test, rfc_inner, test_of
from penstock.expr.values import type_name

MAX_SOURCE: Final = 4096
MAX_SELECTORS: Final = 64
MAX_DATA_DEPTH: Final = 64

_LENGTH: Final = re.compile(r"\.length\(\)$")
_PARSER: Final = JSONPathEnvironment(strict=True)
_Selector: TypeAlias = selectors.JSONPathSelector


class Query(msgspec.Struct, frozen=True):
    """A query, with the `.length()` that the RFC does not know but people write."""

    find: Find
    singular: bool
    """At most one node: nothing but names and indices."""
    length: bool
    """Asked for the length of what it finds."""
    reads: frozenset[Path]
    """The names that it, and each query from the root inside its filters, starts with."""

    def values(self, root: Json) -> list[Json]:
        return self.find(root, root)


@lru_cache(1024)
def compile_query(source: str) -> Query:
    query = _LENGTH.sub("", source)
    path = _parse(query)
    inner = [inner for segment in path.segments for inner in _inner_queries(segment)]
    _bound(path, inner)
    roots = [path, *(query.path for query in inner if isinstance(query, rfc.RootFilterQuery))]
    return Query(_find(path), path.singular_query(), query != source, frozenset(map(_prefix, roots)))


def length_of(found: list[Json], *, singular: bool) -> int:
    """How long the one value is, or how many were found."""
    if not singular:
        return len(found)
    if not found or found[0] is None:
        return 0
    if isinstance(found[0], str | list | dict):
        return len(found[0])
    raise EvaluationError(language="JSONPath", reason=f"{type_name(found[0])} has no length")


def _parse(source: str) -> JSONPath:
    if len(source.encode()) > MAX_SOURCE:
        raise _too_complex("its source is too long", f"{MAX_SOURCE} bytes")
    try:
        path = _PARSER.compile(source)
    except RecursionError:
        raise _too_complex("it nests too deeply", "the parser's") from None
    except JSONPathError as error:
        at = error.token.index if error.token is not None and error.token.index >= 0 else len(source)
        raise CompileError(
            language="JSONPath",
            line=source.count("\n", 0, at) + 1,
            column=at - source.rfind("\n", 0, at),
            reason=str(error.message),
            expected="an RFC 9535 query, like `$.items[?@.price > 10].name`",
        ) from None
    assert isinstance(path, JSONPath)  # noqa: S101 - unions of paths are not in RFC 9535, so not strict
    return path


def _bound(path: JSONPath, inner: list[rfc.FilterQuery]) -> None:
    outer = sum(isinstance(segment, JSONPathRecursiveDescentSegment) for segment in path.segments)
    if outer > 1:
        raise _too_complex("it has several descendant segments (`..`)", "one")
    segments = [*path.segments, *(segment for query in inner for segment in query.path.segments)]
    if any(isinstance(s, JSONPathRecursiveDescentSegment) for query in inner for s in query.path.segments):
        raise _too_complex("it has a descendant segment (`..`) inside a filter", "none there")
    if any(isinstance(query, rfc.RootFilterQuery) and not query.path.singular_query() for query in inner):
        raise _too_complex("a filter searches the whole document (`$`) for every node", "names and indices there")
    if prod(len(segment.selectors) for segment in segments) > MAX_SELECTORS:
        raise _too_complex("its brackets multiply", f"{MAX_SELECTORS} combinations of selectors")


def _inner_queries(segment: JSONPathSegment) -> Iterator[rfc.FilterQuery]:
    pending: list[rfc.BaseExpression] = [s.expression for s in segment.selectors if isinstance(s, selectors.Filter)]
    while pending:
        expression = pending.pop()
        if isinstance(expression, rfc.FilterQuery):
            yield expression
            for inner in expression.path.segments:
                yield from _inner_queries(inner)
        else:
            pending.extend(expression.children())


def _too_complex(reason: str, limit: str) -> ExpressionTooComplex:
    return ExpressionTooComplex(language="JSONPath", reason=reason, limit=limit)


def _prefix(path: JSONPath) -> Path:
    names: list[str] = []
    for segment in path.segments:
        first = segment.selectors[0]
        descends = isinstance(segment, JSONPathRecursiveDescentSegment)
        if descends or len(segment.selectors) > 1 or not isinstance(first, selectors.NameSelector):
            break
        names.append(first.name)
    return tuple(names)


def _find(path: JSONPath) -> Find:
    steps = [_segment(segment) for segment in path.segments]

    def find(node: Json, root: Json) -> list[Json]:
        nodes = [node]
        for step in steps:
            nodes = step(nodes, root)
            if not nodes:
                break
        return nodes

    return find


def _segment(segment: JSONPathSegment) -> Find:
    """From all nodes found so far to their selected children."""
    steps = [_select(selector) for selector in segment.selectors]
    if isinstance(segment, JSONPathRecursiveDescentSegment):

        def descend(nodes: list[Json], root: Json) -> list[Json]:
            everything = [below for node in nodes for below in _descendants(node)]
            if len(steps) == 1:
                return steps[0](everything, root)
            return [found for node in everything for step in steps for found in step([node], root)]

        return descend
    if len(steps) == 1:
        return steps[0]
    return lambda nodes, root: [found for node in nodes for step in steps for found in step([node], root)]


def _select(selector: _Selector) -> Find:
    match selector:
        case selectors.NameSelector(name=name):
            return lambda nodes, root: [n[name] for n in nodes if isinstance(n, dict) and name in n]  # noqa: ARG005
        case selectors.IndexSelector(index=index):
            return lambda nodes, root: [  # noqa: ARG005 - one shape for all selectors
                n[index] for n in nodes if isinstance(n, list) and -len(n) <= index < len(n)
            ]
        case selectors.SliceSelector(slice=part):
            if part.step == 0:
                return lambda nodes, root: []  # noqa: ARG005 - as the RFC has it
            return lambda nodes, root: [c for n in nodes if isinstance(n, list) for c in n[part]]  # noqa: ARG005
        case selectors.Filter():
            test: Test = test_of(rfc_inner(selector.expression), _find)
            return lambda nodes, root: [c for n in nodes for c in _children(n) if test(c, root)]
        case _:
            return lambda nodes, root: [c for n in nodes for c in _children(n)]  # noqa: ARG005 - wildcard


def _children(node: Json) -> list[Json]:
    if isinstance(node, list):
        return node
    return list(node.values()) if isinstance(node, dict) else []


def _descendants(top: Json) -> Iterator[Json]:
    """The node itself and everything below, parents first, in document order."""
    pending = [(top, 0)]
    while pending:
        node, depth = pending.pop()
        if depth > MAX_DATA_DEPTH:
            reason = "the document nests too deeply for `..`"
            raise LimitExceeded(language="JSONPath", limit=f"{MAX_DATA_DEPTH} levels", reason=reason)
        yield node
        pending.extend((c, depth + 1) for c in reversed(_children(node)) if isinstance(c, dict | list))
