"""`schema_validation`: whether the current output satisfies a JSON Schema.

Nothing is ever fetched: a `$ref` must lead to the schema itself or to a published meta-schema. A small schema
can still ask for exponential work by referring to itself twice at every level, so that is counted beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NoReturn

import jsonschema_rs
import msgspec

from penstock.core.model.evaluate import Json, Variables, Verdicts
from penstock.expr.condition.base import CompiledCondition
from penstock.expr.errors import ConditionInvalid, EvaluationError, ExpressionTooComplex

MAX_CHECKS: Final = 100_000
"""Sub-schemas that one value may be checked against, references followed."""

_LANGUAGE: Final = "schema_validation"
_PATTERNS: Final = jsonschema_rs.FancyRegexOptions(backtrack_limit=10_000)


class SchemaCondition(CompiledCondition):
    reads = frozenset({("output",)})

    def __init__(self, schema: Json, *, invert: bool) -> None:
        self._is_valid = _validator(msgspec.json.encode(schema, order="sorted")).is_valid
        self._invert = invert

    def verdict(self, variables: Variables, verdicts: Verdicts) -> bool:  # noqa: ARG002 - one shape for all
        try:
            return self._is_valid(variables["output"]) is not self._invert
        except KeyError:
            raise EvaluationError(language=_LANGUAGE, reason="there is no `output` here") from None
        except ValueError as error:
            raise EvaluationError(language=_LANGUAGE, reason=str(error)) from None


@lru_cache(1024)
def _validator(source: bytes) -> jsonschema_rs.Draft202012Validator:
    schema = msgspec.json.decode(source)
    if not isinstance(schema, dict | bool):
        raise ConditionInvalid(language=_LANGUAGE, reason="the schema is not an object", expected="a JSON Schema")
    if _checks(schema) > MAX_CHECKS:
        limit = f"{MAX_CHECKS} sub-schemas, references followed"
        raise ExpressionTooComplex(language=_LANGUAGE, reason="its references multiply", limit=limit)
    try:
        return jsonschema_rs.validator_for(schema, retriever=_never, pattern_options=_PATTERNS)  # type: ignore[return-value]
    except (jsonschema_rs.ValidationError, ValueError) as error:
        where = "/".join(map(str, getattr(error, "instance_path", ())))
        reason = f"{getattr(error, 'message', str(error))}{f' at {where}' if where else ''}"
        raise ConditionInvalid(language=_LANGUAGE, reason=reason, expected="a valid JSON Schema") from None


def _never(uri: str) -> NoReturn:
    msg = f"{uri} is elsewhere, and schemas are never fetched"
    raise ValueError(msg)


def _checks(schema: Json) -> int:
    """Sub-schemas visited if every local reference is followed, once per way that leads to it.

    A reference back to where it came from counts once: the validator itself stops such cycles.
    """
    anchors = {f"#{name}": node for node in _objects(schema) for name in _anchors(node)}
    known: dict[str, int] = {}

    def count(node: Json) -> int:
        if isinstance(node, list):
            return sum(map(count, node))
        if not isinstance(node, dict):
            return 0
        inner = sum(count(value) for key, value in node.items() if key not in {"$defs", "definitions"})
        return 1 + inner + sum(follow(node[key]) for key in ("$ref", "$dynamicRef") if key in node)

    def follow(reference: Json) -> int:
        if not isinstance(reference, str) or not reference.startswith("#"):
            return 1
        if reference not in known:
            known[reference] = 1
            known[reference] = count(anchors.get(reference) or _resolve(schema, reference))
        return known[reference]

    return count(schema)


def _objects(node: Json) -> Iterator[dict[str, Json]]:
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _objects(child)


def _anchors(node: dict[str, Json]) -> Iterator[str]:
    return (node[key] for key in ("$anchor", "$dynamicAnchor") if isinstance(node.get(key), str))


def _resolve(schema: Json, reference: str) -> Json:
    """Where a JSON Pointer leads; a wrong one is the validator's to refuse."""
    node = schema
    for part in reference.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, list) and name.isdecimal() and int(name) < len(node):
            node = node[int(name)]
        elif isinstance(node, dict):
            node = node.get(name)
        else:
            return None
    return node
