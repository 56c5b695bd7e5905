"""Keys that are free text, chosen by users to name one of their operations. Adapters hash them."""

from __future__ import annotations

from penstock.fabric.errors import IllegalKey

KEY_LIMIT = 512


def check_key(key: str, kind: str) -> str:
    try:
        key.encode()
    except UnicodeEncodeError:  # half a surrogate pair: text that no wire can carry
        raise IllegalKey(value=ascii(key[:KEY_LIMIT]), kind=kind, limit=KEY_LIMIT) from None
    if not 0 < len(key) <= KEY_LIMIT:
        raise IllegalKey(value=key[:KEY_LIMIT], kind=kind, limit=KEY_LIMIT)
    return key
