"""Holds every log call in the source to the list of log keys."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from penstock.kit.names import LOG_KEYS

ROOT = Path(__file__).parents[3]
LEVELS = {"debug", "info", "warning", "error", "exception", "critical", "log"}
OWN = {"exc_info", "stack_info"}


def log_keys(source: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(source.read_text())):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in LEVELS
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "log"
        ):
            yield from ((node.lineno, keyword.arg) for keyword in node.keywords if keyword.arg)


def test_every_log_key_in_use_is_listed_in_kit_names() -> None:
    unlisted = [
        f"{source.relative_to(ROOT)}:{line}: {key}"
        for folder in ("libs", "services")
        for source in sorted((ROOT / folder / "penstock").rglob("*.py"))
        for line, key in log_keys(source)
        if key not in LOG_KEYS and key not in OWN
    ]
    assert unlisted == [], "add the key to penstock.kit.names.LOG_KEYS, or use one that is there"
