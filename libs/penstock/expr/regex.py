"""Regular expressions whose time grows with the text, never with the pattern's cleverness (RE2)."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Protocol

import re2  # type: ignore[import-untyped]


class Regex(Protocol):
    @property
    def search(self) -> Callable[[str], Any]: ...

    @property
    def fullmatch(self) -> Callable[[str], Any]: ...


_QUIET = re2.Options()
_QUIET.log_errors = False


@lru_cache(1024)
def linear_regex(pattern: str) -> Regex:
    """Raises `ValueError` for a pattern that RE2 does not take: a bad one, a look-around, a back-reference."""
    try:
        compiled: Regex = re2.compile(pattern, options=_QUIET)
    except re2.error as error:
        raise ValueError(str(error)) from None
    return compiled
