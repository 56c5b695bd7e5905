"""Answers by chance, the same for the same seed: outputs that fit the node's schema, decisions, verdicts."""

from __future__ import annotations

from random import Random
from typing import Any, TypeAlias

from penstock.core.graph.program import Program
from penstock.testkit.workflow.answers import Answer, Ask, Decided, Returned
from penstock.testkit.workflow.guess import schema_of

Json: TypeAlias = Any
Schema: TypeAlias = Any

WORDS = ("red", "green", "blue", "north", "south")
DEPTH = 8
"""A schema that refers to itself comes to an end here."""
_SPAN = 10


class Chance:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._random = Random(seed)  # noqa: S311 - repeatable is what it is for

    def below(self, count: int) -> int:
        return self._random.randrange(count)

    def answer(self, ask: Ask, program: Program) -> Answer:
        match ask.kind:
            case "decision":
                return Decided("approved", "chance")
            case "verdict":
                return Returned(self._random.random() < 0.5)  # noqa: PLR2004 - a coin
            case "undo":
                return Returned()
            case "task" if ask.rule and ask.rule.migration:
                return Returned({})  # as it is
            case _:
                return Returned(self.value(schema_of(program, ask.node)), self._choice(ask))

    def value(self, schema: Schema) -> Json:
        """Something that fits a JSON Schema: of the usual words, and of those only."""
        return _Value(self._random, schema).of(schema) if isinstance(schema, dict) else self._anything()

    def _choice(self, ask: Ask) -> tuple[str, ...] | None:
        agent = ask.rule.agent if ask.rule else None
        return (self._random.choice(agent.allowed),) if agent is not None and agent.allowed else None

    def _anything(self) -> Json:
        draw = self._random
        return {"ok": draw.random() < 0.5, "n": draw.randrange(_SPAN), "word": draw.choice(WORDS)}  # noqa: PLR2004 - a coin


class _Value:
    def __init__(self, random: Random, root: Schema) -> None:
        self._random = random
        self._root = root

    def of(self, schema: Schema, depth: int = 0) -> Json:
        if not isinstance(schema, dict) or depth > DEPTH:
            return None
        for word in ("enum", "examples"):
            if schema.get(word):
                return self._random.choice(schema[word])
        if "const" in schema:
            return schema["const"]
        plain = self._plain(schema)
        return self._typed(schema, depth) if plain is None else self.of(plain, depth + 1)

    def _plain(self, schema: dict[str, Any]) -> Schema | None:
        """Without the word that puts it together out of others; None if there is none."""
        if isinstance(ref := schema.get("$ref"), str):
            return self._referred(ref)
        for word in ("anyOf", "oneOf"):
            if schema.get(word):
                return {**_without(schema, word), **self._random.choice(schema[word])}
        return _together(schema) if schema.get("allOf") else None

    def _typed(self, schema: dict[str, Any], depth: int) -> Json:
        kind = schema.get("type") or ("object" if "properties" in schema else "array" if "items" in schema else "null")
        kind = self._random.choice(kind) if isinstance(kind, list) else kind
        match kind:
            case "object":
                return self._object(schema, depth)
            case "array":
                few = int(schema.get("minItems", 0))
                count = self._random.randint(few, max(few, int(schema.get("maxItems", few + 3))))
                return [self.of(schema.get("items", {"type": "integer"}), depth + 1) for _ in range(count)]
            case "boolean":
                return self._random.random() < 0.5  # noqa: PLR2004 - a coin
            case "integer" | "number":
                return self._number(schema, whole=kind == "integer")
            case "string":
                return self._text(schema)
            case _:
                return None

    def _object(self, schema: dict[str, Any], depth: int) -> Json:
        properties, required = schema.get("properties", {}), schema.get("required", [])
        names = [name for name in properties if name in required or self._random.random() < 0.5]  # noqa: PLR2004 - a coin
        names += [name for name in required if name not in properties]
        return {name: self.of(properties.get(name, {"type": "string"}), depth + 1) for name in names}

    def _number(self, schema: dict[str, Any], *, whole: bool) -> float:
        step = schema.get("multipleOf", 1 if whole else 0.5)
        low = schema.get("minimum", schema.get("exclusiveMinimum", min(0, schema.get("maximum", 0))))
        low += step if "exclusiveMinimum" in schema else 0
        high = schema.get("maximum", schema.get("exclusiveMaximum", low + _SPAN * step))
        high -= step if "exclusiveMaximum" in schema else 0
        first = -(-low // step)
        drawn = (first + self._random.randint(0, max(0, int(high // step - first)))) * step
        return int(drawn) if whole else drawn

    def _text(self, schema: dict[str, Any]) -> str:
        if schema.get("format") == "date-time":
            return f"2026-01-{self._random.randint(1, 28):02}T00:00:00Z"
        if schema.get("format") == "date":
            return f"2026-01-{self._random.randint(1, 28):02}"
        text = self._random.choice(WORDS).ljust(int(schema.get("minLength", 0)), "x")
        return text[: int(schema.get("maxLength", len(text)))]

    def _referred(self, ref: str) -> Schema:
        found = self._root
        for part in ref.removeprefix("#").strip("/").split("/"):
            found = found.get(part.replace("~1", "/").replace("~0", "~"), {}) if part else found
        return found


def _without(schema: dict[str, Any], word: str) -> dict[str, Any]:
    return {name: value for name, value in schema.items() if name != word}


def _together(schema: dict[str, Any]) -> dict[str, Any]:
    """All of `allOf` in one, as far as that can be said without solving it."""
    whole = _without(schema, "allOf")
    for part in schema["allOf"]:
        properties = {**whole.get("properties", {}), **part.get("properties", {})}
        required = [*whole.get("required", []), *part.get("required", [])]
        whole = {**whole, **part, "properties": properties, "required": required}
    return whole
