"""nats-py's client with faster headers.

Its own parser looks at every character of every header name; reading a run back spent two thirds of its time
there. `_parse_header_lines` is where it can be replaced without touching anything else.
"""

from __future__ import annotations

from nats.aio.client import Client as NatsClient


def parse_headers(raw: bytes) -> dict[str, str]:
    """`Name: Value` lines; a line that is none is left out."""
    headers = {}
    for line in raw.decode("utf-8", "replace").split("\r\n"):
        name, colon, value = line.partition(":")
        if colon and " " not in name:
            headers[name] = value.strip()
    return headers


class Client(NatsClient):
    _parse_header_lines = staticmethod(parse_headers)
