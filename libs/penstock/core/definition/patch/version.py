"""The version that a patch makes of a version."""

from __future__ import annotations

import re

_LAST_NUMBER = re.compile(r"\d{1,18}(?=\D*$)")


def next_version(version: str) -> str:
    """The last number in it counts up: `main@v1.0` becomes `main@v1.1`. Without one, the first is 1."""
    bumped, count = _LAST_NUMBER.subn(lambda found: str(int(found[0]) + 1), version, count=1)
    return bumped if count else f"{version}.1" if version else "1"
