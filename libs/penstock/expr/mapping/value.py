"""A value as it is written in a mapping, compiled to a function of the variables.

    42, true, null              itself
    "input.total * 2"           CEL
    "$.state.items[0]"          JSONPath: over all variables, or over the output in an output mapping
    "Dear {{ input.name }}"     a string with expressions in it; alone, an expression keeps its type
    {"a": …}, […]               built from its parts
    {"$literal": …}             itself, whatever it looks like

All fields are compiled, and every problem found is reported with its field.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from penstock.core.model.evaluate import Failure, Json, Path, Variables
from penstock.expr.cel.check import ROOTS
from penstock.expr.cel.compile import EngineName, compile_cel
from penstock.expr.errors import CompileError, EvaluationError, ExpressionTooComplex, LimitExceeded, MappingInvalid
from penstock.expr.jsonpath.query import Query, compile_query, length_of
from penstock.expr.mapping import template

Value: TypeAlias = Callable[[Variables], Json]

LITERAL: Final = "$literal"
MAX_DEPTH: Final = 32
MAX_TEXT: Final = 1_048_576

_JSONPATH_ROOTS: Final = ROOTS - {"now"}


class ValueCompiler:
    """Collects what is read and what is wrong while it compiles one mapping."""

    def __init__(self, engine: EngineName, *, over_output: bool) -> None:
        self._engine: EngineName = engine
        self._over_output = over_output
        self._problems: list[CompileError] = []
        self.reads: set[Path] = set()

    def compile(self, source: Json, field: str, depth: int = 1) -> Value:
        if depth > MAX_DEPTH:
            limit = f"{MAX_DEPTH} levels"
            self.refuse(field, ExpressionTooComplex(language="mapping", reason="it nests too deeply", limit=limit))
            return _constant(None)
        match source:
            case str():
                return self._text(source, field)
            case {"$literal": literal} if len(source) == 1:
                return _constant(literal)
            case dict():
                fields = [(key, self.compile(item, _join(field, key), depth + 1)) for key, item in source.items()]
                return lambda variables: {key: value(variables) for key, value in fields}
            case list():
                items = [self.compile(item, f"{field}[{at}]", depth + 1) for at, item in enumerate(source)]
                return lambda variables: [value(variables) for value in items]
            case _:
                return _constant(source)

    def refuse(self, field: str, error: CompileError) -> None:
        self._problems.append(type(error)(**{**error.attributes, "field": field}))

    def finish(self) -> None:
        """Raises what was found wrong, all of it at once."""
        if self._problems:
            summary = "; ".join(f"{error.attributes['field'] or 'value'}: {error.message}" for error in self._problems)
            raise MappingInvalid(summary=summary, problems=tuple(self._problems))

    def _text(self, source: str, field: str) -> Value:
        try:
            if template.OPEN in source:
                return _named(field, self._template(source))
            return _named(field, self._expression(source))
        except CompileError as error:
            self.refuse(field, error)
            return _constant(None)

    def _template(self, source: str) -> Value:
        parts = template.split(source, self._expression)
        if len(parts) == 1 and not isinstance(parts[0], str):
            return parts[0]
        return lambda variables: _filled(parts, variables)

    def _expression(self, source: str) -> Value:
        if source.startswith("$"):
            return self._jsonpath(source)
        expression = compile_cel(source, self._engine)
        self.reads |= expression.reads
        return expression.value

    def _jsonpath(self, source: str) -> Value:
        query = compile_query(source)
        if self._over_output:
            self.reads |= {("output", *path) for path in query.reads}
            return lambda variables: _found(query, _variable(variables, "output"))
        unknown = [path for path in query.reads if not path or path[0] not in _JSONPATH_ROOTS]
        if unknown:
            raise CompileError(
                language="JSONPath",
                line=1,
                column=1,
                reason=f"there is no variable `{unknown[0][0] if unknown[0] else '$'}`",
                expected=f"`$.` and one of {', '.join(sorted(_JSONPATH_ROOTS))}",
            )
        self.reads |= {("nodes" if path[0] == "ctx" else path[0], *path[1:]) for path in query.reads}
        return lambda variables: _found(query, {**variables, "ctx": variables.get("nodes")})


class CompiledInput:
    """Implements `penstock.core.model.evaluate.InputMapping`."""

    def __init__(self, source: Json, engine: EngineName) -> None:
        compiler = ValueCompiler(engine, over_output=False)
        self._value = compiler.compile(source, "")
        compiler.finish()
        self.reads = frozenset(compiler.reads)

    def evaluate(self, variables: Variables) -> Json | Failure:
        return attempt(lambda: self._value(variables))


def attempt(build: Callable[[], Json]) -> Json | Failure:
    try:
        return build()
    except EvaluationError as error:
        return Failure.of(error)
    except RecursionError:
        return Failure.of(LimitExceeded(language="mapping", limit="depth", reason="the data nests too deeply"))


def _constant(value: Json) -> Value:
    return lambda _: value


def _named(field: str, value: Value) -> Value:
    """The same value; its failure says which field it was for."""

    def evaluate(variables: Variables) -> Json:
        try:
            return value(variables)
        except EvaluationError as error:
            raise type(error)(**{**error.attributes, "field": field}) from None

    return evaluate


def _found(query: Query, root: Json) -> Json:
    found = query.values(root)
    if query.length:
        return length_of(found, singular=query.singular)
    if query.singular:
        return found[0] if found else None
    return found


def _variable(variables: Variables, name: str) -> Json:
    if name not in variables:
        raise EvaluationError(language="JSONPath", reason=f"there is no `{name}` here")
    return variables[name]


def _filled(parts: list[str | Value], variables: Variables) -> str:
    text: list[str] = []
    room = MAX_TEXT
    for part in parts:
        value = part if isinstance(part, str) else part(variables)
        text.append(value if isinstance(value, str) else msgspec.json.encode(value).decode())
        room -= len(text[-1])
        if room < 0:
            raise LimitExceeded(language="template", limit=f"{MAX_TEXT} characters", reason="the text is too long")
    return "".join(text)


def _join(field: str, key: str) -> str:
    return f"{field}.{key}" if field else key
