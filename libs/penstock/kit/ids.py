"""The one place that makes ids."""

from __future__ import annotations

import hashlib

import uuid_utils


def new_id() -> str:
    """A UUIDv7: unique, and sorted by the time it was made."""
    return uuid_utils.uuid7().hex


def run_id(tenant: str, idempotency_key: str | None = None) -> str:
    """A run's id. With a key it follows from the key, so that starting twice is one run by construction."""
    if idempotency_key is None:
        return new_id()
    return hashlib.sha256(f"{tenant}\0{idempotency_key}".encode()).hexdigest()[:32]
