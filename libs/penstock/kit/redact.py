"""Hiding secrets in text that people read: settings, log lines, addresses in answers."""

from __future__ import annotations

import re

HIDDEN = "********"
SECRET_KEYS = frozenset({"authorization", "password", "secret"})

_USERINFO = re.compile(r"([a-z][a-z0-9+.-]*)://([^/\s\"']*)@")
_PAIR = re.compile(r"\b((?:ssl)?password|passwd|secret)=[^&\s\"'\\]+", re.IGNORECASE)
_MEMBER = re.compile(r"""(["'])(authorization|password|secret)\1: ?(["'])(?:(?!\3)[^\\]|\\.)+\3""", re.IGNORECASE)
_LONE_TOKEN_SCHEMES = frozenset({"nats", "tls", "ws", "wss"})


def redact(text: str) -> str:
    """The text with the credentials in URLs, connection strings and JSON hidden, and the rest readable."""
    lower = text.lower()
    if "://" in lower:
        text = _USERINFO.sub(_hide_userinfo, text)
    # Every log line comes by here: the patterns run only where there can be something to hide.
    if "passw" in lower or "secret" in lower or "authorization" in lower:
        text = _PAIR.sub(rf"\1={HIDDEN}", text)
        text = _MEMBER.sub(rf"\1\2\1:\3{HIDDEN}\3", text)
    return text


def _hide_userinfo(match: re.Match[str]) -> str:
    scheme, userinfo = match.groups()
    user, colon, _ = userinfo.partition(":")
    if colon:
        return f"{scheme}://{user}:{HIDDEN}@"
    # In NATS a name without a password is a token; elsewhere it is a user.
    return f"{scheme}://{HIDDEN if scheme in _LONE_TOKEN_SCHEMES else user}@"
