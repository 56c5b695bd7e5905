"""JSON values: what their types are called, and how a path is followed into them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from penstock.core.model.evaluate import Json, Variables
from penstock.expr.errors import EvaluationError

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

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


def moment(instant: int) -> datetime:
    """An `Instant` as engines know time."""
    return EPOCH + timedelta(microseconds=instant)


def follow(variables: Variables, path: tuple[str | int, ...], language: str) -> Json:
    """The value at the end of a path of fields and list positions. What is not there is an error."""
    value: Json = variables
    for at, step in enumerate(path):
        try:
            if isinstance(step, int) and (step < 0 or not isinstance(value, list)):
                raise TypeError  # noqa: TRY301 - Python would count from the end, or into a string
            value = value[step]
        except (LookupError, TypeError) as error:
            raise EvaluationError(language=language, reason=_missing(path, at, value, error)) from None
    return value


def _missing(path: tuple[str | int, ...], at: int, value: Json, error: Exception) -> str:
    step, parent = path[at], ".".join(map(str, path[:at]))
    if isinstance(error, TypeError):
        return f"`{parent}` is {type_name(value)}, so it has no `{step}`"
    return f"there is no `{step}` {f'in `{parent}`' if parent else 'here'}"
