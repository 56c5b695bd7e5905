"""A condition as it is written to a condition that can be evaluated.

A string is CEL; an object says its `type`. Anything that would fail for every input is refused here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from penstock.core.model.evaluate import Json
from penstock.expr.cel.compile import EngineName, compile_cel
from penstock.expr.condition.base import CompiledCondition, Fields
from penstock.expr.condition.cel import CelCondition
from penstock.expr.condition.composite import MAX_DEPTH, OPERATORS, CompositeCondition
from penstock.expr.condition.cross_node import compile_cross_node
from penstock.expr.condition.jsonpath import compile_jsonpath
from penstock.expr.condition.python import (
    MAX_MEMORY_MB,
    MAX_TIMEOUT_MS,
    MEMORY_MB,
    TIMEOUT_MS,
    PythonCondition,
)
from penstock.expr.condition.schema import SchemaCondition
from penstock.expr.errors import CompileError, ConditionInvalid, ExpressionTooComplex

LoadBlob: TypeAlias = Callable[[str], bytes]
"""The bytes of a `cas://` reference; raises `LookupError` if there are none."""

TYPES: Final = ("cel", "schema_validation", "jsonpath", "cross_node_comparison", "composite", "python_sandbox")


def no_blobs(reference: str) -> bytes:
    """The `LoadBlob` of a place that has none."""
    raise LookupError(reference)


class ConditionCompiler:
    def __init__(self, engine: EngineName, load_blob: LoadBlob = no_blobs) -> None:
        self._engine: EngineName = engine
        self._load_blob = load_blob

    def compile(self, source: Json, depth: int = 1) -> CompiledCondition:
        """Raises `CompileError`."""
        if isinstance(source, str):
            return CelCondition(compile_cel(source, self._engine))
        if not isinstance(source, dict):
            raise ConditionInvalid(
                language="condition", reason=f"it is {source!r}", expected="a CEL string, or an object with a `type`"
            )
        kind = source.get("type", "cel")
        fields = Fields({key: value for key, value in source.items() if key != "type"}, str(kind))
        match kind:
            case "cel":
                expression = fields.text("expression", expected="a CEL expression")
                condition: CompiledCondition = CelCondition(compile_cel(expression, self._engine))
            case "schema_validation":
                condition = self._schema(fields)
            case "jsonpath":
                condition = compile_jsonpath(fields)
            case "cross_node_comparison":
                condition = compile_cross_node(fields)
            case "composite":
                condition = self._composite(fields, depth)
            case "python_sandbox":
                condition = self._python(fields)
            case _:
                raise fields.invalid(f"there is no type `{kind}`", f"one of {', '.join(TYPES)}")
        fields.finish()
        return condition

    def _schema(self, fields: Fields) -> SchemaCondition:
        invert = bool(fields.optional("invert", bool, expected="true or false", default=False))
        if fields.has("schema_ref"):
            content = self._blob(fields, "schema_ref")
            try:
                schema = msgspec.json.decode(content)
            except msgspec.DecodeError:
                raise fields.invalid("the blob of `schema_ref` is not JSON", "a JSON Schema") from None
        else:
            schema = fields.take("schema", dict, bool, expected="a JSON Schema, or a `schema_ref`")
        return SchemaCondition(schema, invert=invert)

    def _composite(self, fields: Fields, depth: int) -> CompositeCondition:
        if depth > MAX_DEPTH:
            limit = f"{MAX_DEPTH} levels"
            raise ExpressionTooComplex(language="composite", reason="it nests too deeply", limit=limit)
        operator = fields.text("operator", expected=f"one of {', '.join(OPERATORS)}").upper()
        if operator not in OPERATORS:
            raise fields.invalid(f"there is no operator `{operator}`", f"one of {', '.join(OPERATORS)}")
        listed = fields.take("conditions", list, expected="a list of conditions")
        sources = listed if isinstance(listed, list) else []
        if not sources or (operator == "NOT" and len(sources) != 1):
            raise fields.invalid(
                f"`{operator}` has {len(sources)} conditions", "exactly one" if operator == "NOT" else "at least one"
            )
        operands = tuple(self._operand(source, index, depth) for index, source in enumerate(sources))
        return CompositeCondition(operator, operands)

    def _operand(self, source: Json, index: int, depth: int) -> CompiledCondition:
        try:
            return self.compile(source, depth + 1)
        except CompileError as error:
            path = f"conditions[{index}]{'.' if 'path' in error.attributes else ''}{error.attributes.get('path', '')}"
            raise type(error)(**{**error.attributes, "path": path}) from None

    def _python(self, fields: Fields) -> PythonCondition:
        if fields.has("code_ref"):
            code = self._blob(fields, "code_ref").decode(errors="replace")
        else:
            code = fields.text("code", expected="Python source, or a `code_ref`")
        return PythonCondition(
            code,
            timeout_ms=_limit(fields, "timeout_ms", TIMEOUT_MS, MAX_TIMEOUT_MS),
            max_memory_mb=_limit(fields, "max_memory_mb", MEMORY_MB, MAX_MEMORY_MB),
        )

    def _blob(self, fields: Fields, name: str) -> bytes:
        reference = fields.text(name, expected="a reference like `cas://sha256:…`")
        try:
            return self._load_blob(reference)
        except LookupError:
            raise fields.invalid(f"there is no blob `{reference}`", "a blob that has been stored") from None


def _limit(fields: Fields, name: str, default: int, most: int) -> int:
    expected = f"a whole number from 1 to {most}"
    value = fields.optional(name, int, expected=expected, default=default)
    if not isinstance(value, int) or not 1 <= value <= most:
        raise fields.invalid(f"its `{name}` is {value!r}", expected)
    return value
