"""JSON values: what their types are called, and how a path is followed into them."""

from __future__ import annotations

from datetime import datetime, timedelta

from penstock.core.model.evaluate import Json, Variables
from penstock.expr.errors import EvaluationError

_NAMES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (type(None), "null"),
    (bool, "a boolean"),
    ((int, float), "a number"),
    (str, "a string"),
    (dict, "an object"),
    (list, "a list"),
    (datetime, "a timestamp"),
    (timedelta, "a duration"),
)


def type_name(value: object) -> str:
    """How people call the type of a value."""
    return next((name for types, name in _NAMES if isinstance(value, types)), "a type")


def follow(variables: Variables, path: tuple[str | int, ...], language: str) -> Json:
    """The value at the end of a path of fields and list positions. What is not there is an error."""
    value: Json = variables
    for at, step in enumerate(path):
        if isinstance(step, str) and isinstance(value, dict):
            found = step in value
        elif isinstance(step, int) and isinstance(value, list):
            found = 0 <= step < len(value)
        else:
            reason = f"`{_text(path[:at])}` is {type_name(value)}, so it has no `{step}`"
            raise EvaluationError(language=language, reason=reason)
        if not found:
            where = f" in `{_text(path[:at])}`" if at else " here"
            raise EvaluationError(language=language, reason=f"there is no `{step}`{where}")
        value = value[step]
    return value


def _text(path: tuple[str | int, ...]) -> str:
    return ".".join(map(str, path))
