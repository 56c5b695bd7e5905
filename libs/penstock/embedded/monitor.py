"""The monitoring pages of a nats-server."""

from __future__ import annotations

import json
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

_TIMEOUT = 2.0


def page(url: str | None, name: str) -> dict[str, Any] | None:
    """`varz`, `jsz`, `healthz` …; None when the server does not answer, or not with success."""
    if url is None or not url.startswith(("http://", "https://")):
        return None
    try:
        with urlopen(f"{url.rstrip('/')}/{name}", timeout=_TIMEOUT) as response:  # noqa: S310 - checked above
            body: dict[str, Any] = json.load(response)
            return body
    except (URLError, OSError, ValueError):
        return None
