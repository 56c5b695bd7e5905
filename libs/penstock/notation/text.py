"""Text in either notation: JSON if it begins like JSON, else YAML."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from penstock.core.definition import Places
from penstock.notation.errors import NotationError
from penstock.notation.json_text import read_json
from penstock.notation.yaml_text import read_yaml

MAX_CHARACTERS: Final = 4 * 1024 * 1024
"""Comments and indentation included; what it says is bounded where it is checked."""


class Text(NamedTuple):
    data: Any
    places: Places


def read_text(text: str) -> Text:
    """Raises `NotationError`."""
    if len(text) > MAX_CHARACTERS:
        reason = f"it has more than {MAX_CHARACTERS:,} characters"
        raise NotationError(language="definition", line=1, column=1, reason=reason)
    text = text.removeprefix("\ufeff")
    return Text(
        *(read_json(text) if text.lstrip()[:1] in {"{", "["} or _begins_with_comment(text) else read_yaml(text))
    )


def _begins_with_comment(text: str) -> bool:
    return text.lstrip().startswith("//")
