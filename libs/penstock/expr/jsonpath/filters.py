"""Filter expressions of a JSONPath query, as functions of the current node and the root."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from jsonpath import filter as rfc
from jsonpath.path import JSONPath

from penstock.core.model.evaluate import Json
from penstock.expr.compare import equal, ordered
from penstock.expr.errors import LimitExceeded
from penstock.expr.regex import linear_regex

NOTHING: Final = object()
"""The value of a query that finds no node (RFC 9535, 2.4.1)."""

Find: TypeAlias = Callable[[Json, Json], list[Json]]
Build: TypeAlias = Callable[[JSONPath], Find]
Value: TypeAlias = Callable[[Json, Json], Any]
Test: TypeAlias = Callable[[Json, Json], bool]

MAX_REGEX_TEXT: Final = 16_384

_ORDERS: Final = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def test_of(expression: rfc.BaseExpression, build: Build) -> Test:  # noqa: PLR0911 - one line per kind
    """The filter as a yes or no."""
    match expression:
        case rfc.FilterExpression():
            return test_of(expression.expression, build)
        case rfc.PrefixExpression():
            inner = test_of(expression.right, build)
            return lambda node, root: not inner(node, root)
        case rfc.InfixExpression(operator="&&" | "||" as op):
            left, right = test_of(expression.left, build), test_of(expression.right, build)
            if op == "&&":
                return lambda node, root: left(node, root) and right(node, root)
            return lambda node, root: left(node, root) or right(node, root)
        case rfc.InfixExpression():
            return _comparison(expression, build)
        case rfc.FilterQuery():
            find = _nodes(expression, build)
            return lambda node, root: bool(find(node, root))
        case _:
            value = _value(expression, build)
            return lambda node, root: value(node, root) is True


def _comparison(expression: rfc.InfixExpression, build: Build) -> Test:
    left, right = _value(expression.left, build), _value(expression.right, build)
    op = expression.operator
    if op == "==":
        return lambda node, root: equal(left(node, root), right(node, root))
    if op == "!=":
        return lambda node, root: not equal(left(node, root), right(node, root))
    order = _ORDERS[op]
    or_equal = op in {"<=", ">="}

    def compare(node: Json, root: Json) -> bool:
        one, other = left(node, root), right(node, root)
        if ordered(one, other):
            return bool(order(one, other))
        return or_equal and equal(one, other)

    return compare


def _value(expression: rfc.BaseExpression, build: Build) -> Value:
    match expression:
        case rfc.FilterExpressionLiteral():
            constant = expression.value
            return lambda node, root: constant  # noqa: ARG005 - one shape for all values
        case rfc.Nil():
            return lambda node, root: None  # noqa: ARG005 - one shape for all values
        case rfc.FilterQuery():
            return _single(expression, build)
        case rfc.FunctionExtension():
            return _function(expression, build)
        case _:
            return _value(rfc_inner(expression), build)


def rfc_inner(expression: rfc.BaseExpression) -> rfc.BaseExpression:
    """What a wrapper of the library (its caches, its grouping) stands for."""
    (inner,) = expression.children()
    return inner


def _single(query: rfc.FilterQuery, build: Build) -> Value:
    """A singular query's value. One field of the current node is by far the commonest."""
    segments = query.path.segments
    name = getattr(segments[0].selectors[0], "name", None) if len(segments) == 1 else None
    if isinstance(query, rfc.RelativeFilterQuery) and isinstance(name, str):
        field = name
        return lambda node, root: node.get(field, NOTHING) if isinstance(node, dict) else NOTHING  # noqa: ARG005
    find = _nodes(query, build)

    def single(node: Json, root: Json) -> Json:
        found = find(node, root)
        return found[0] if found else NOTHING

    return single


def _nodes(query: rfc.FilterQuery, build: Build) -> Find:
    find = build(query.path)
    if isinstance(query, rfc.RootFilterQuery):
        return lambda node, root: find(root, root)  # noqa: ARG005 - one shape for all queries
    return find


def _function(call: rfc.FunctionExtension, build: Build) -> Value:
    if call.name in {"count", "value"}:
        (query,) = call.args
        assert isinstance(query, rfc.FilterQuery)  # noqa: S101 - the parser has checked the types
        find = _nodes(query, build)
        if call.name == "count":
            return lambda node, root: len(find(node, root))

        def value(node: Json, root: Json) -> Json:
            found = find(node, root)
            return found[0] if len(found) == 1 else NOTHING

        return value
    args = [_value(arg, build) for arg in call.args]
    apply = _FUNCTIONS[call.name]
    return lambda node, root: apply(*(arg(node, root) for arg in args))


def _length(value: Json) -> Any:  # noqa: ANN401 - a number or NOTHING
    return len(value) if isinstance(value, str | list | dict) else NOTHING


def _matching(text: Json, pattern: Json, *, whole: bool) -> bool:
    if not isinstance(text, str) or not isinstance(pattern, str):
        return False
    if len(text) > MAX_REGEX_TEXT:
        limit = f"{MAX_REGEX_TEXT} characters"
        raise LimitExceeded(language="JSONPath", limit=limit, reason="the text is too long for match() and search()")
    try:
        regex = linear_regex(pattern)
    except ValueError:  # RFC 9535, 2.4.6: not an I-Regexp, so it matches nothing
        return False
    return (regex.fullmatch(text) if whole else regex.search(text)) is not None


_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "length": _length,
    "match": lambda text, pattern: _matching(text, pattern, whole=True),
    "search": lambda text, pattern: _matching(text, pattern, whole=False),
}
