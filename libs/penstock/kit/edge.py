"""Errors at the edge: what a caller is told, the same over gRPC and REST.

An error of ours becomes its canonical status, its code, its attributes and what to do next. Anything else is
a fault of ours: the caller gets an incident id, the log gets the cause.
"""

from __future__ import annotations

from typing import Any

import msgspec
import structlog
from prometheus_client import Counter, Histogram

from penstock.core.errors import PenstockError
from penstock.kit import metrics, names
from penstock.kit.ids import new_id
from penstock.kit.redact import redact

DOMAIN = "penstock"
TEXT_LIMIT = 500
"""Per attribute. Details travel in HTTP/2 headers, and clients refuse more than 8 KB of those."""

log = structlog.get_logger()

requests = Counter(names.REQUESTS, "Calls answered at the edge.", ["method", "status"], registry=metrics.REGISTRY)
request_seconds = Histogram(names.REQUEST_SECONDS, "Time to answer a call.", ["method"], registry=metrics.REGISTRY)

# By code; an error without a line of its own is treated as its parent.
_STATUS = {
    "INTERNAL": "INTERNAL",
    "KIT": "INTERNAL",
    "DOMAIN": "FAILED_PRECONDITION",
    "UNKNOWN_TARGET": "NOT_FOUND",
    "SIGNALS_FULL": "RESOURCE_EXHAUSTED",
    "DEFINITION_INVALID": "INVALID_ARGUMENT",
    "PATCH": "INVALID_ARGUMENT",
    "PATCH_INVALID": "INVALID_ARGUMENT",
    "PATCH_CONFLICT": "FAILED_PRECONDITION",
    "REVISION_CONFLICT": "ABORTED",
    "DEFINITION_MISSING": "NOT_FOUND",
    "REVISION_MISMATCH": "FAILED_PRECONDITION",
    "EVENT_UNKNOWN": "FAILED_PRECONDITION",
    "EVENT_MALFORMED": "DATA_LOSS",
    "TURN": "INTERNAL",
    "RUN_UNKNOWN": "NOT_FOUND",
    "NOTATION": "INVALID_ARGUMENT",
    "EXPR": "INVALID_ARGUMENT",
    "EXPR_LIMIT": "RESOURCE_EXHAUSTED",
    "EXPR_SANDBOX": "UNAVAILABLE",
    "FABRIC": "INTERNAL",
    "ILLEGAL_NAME": "INVALID_ARGUMENT",
    "TOO_LARGE": "INVALID_ARGUMENT",
    "UNDECODABLE": "DATA_LOSS",
    "UNAVAILABLE": "UNAVAILABLE",
    "STORAGE_FULL": "RESOURCE_EXHAUSTED",
    "SERVER_TOO_OLD": "FAILED_PRECONDITION",
    "PERMISSION_DENIED": "PERMISSION_DENIED",
    "REQUEST_REFUSED": "FAILED_PRECONDITION",
    "LOG_CONFLICT": "ABORTED",
    "LOG_BROKEN": "DATA_LOSS",
    "TOPOLOGY_CONFLICT": "FAILED_PRECONDITION",
    "SHARDS_FIXED": "FAILED_PRECONDITION",
    "LEASE_LOST": "ABORTED",
    "BLOB_MISSING": "NOT_FOUND",
    "BLOB_CORRUPT": "DATA_LOSS",
    "CLAIM_LOST": "ABORTED",
    "CONSUMER_GONE": "ABORTED",
    "IDEMPOTENCY_CONFLICT": "ALREADY_EXISTS",
    "ILLEGAL_INCREMENT": "INVALID_ARGUMENT",
    "ILLEGAL_KEY": "INVALID_ARGUMENT",
    "RECORD_CONFLICT": "ABORTED",
    "TOO_MANY_EVENTS": "INVALID_ARGUMENT",
}

# Google's own pairing of canonical codes with HTTP.
_HTTP = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "ABORTED": 409,
    "RESOURCE_EXHAUSTED": 429,
    "INTERNAL": 500,
    "DATA_LOSS": 500,
    "UNAVAILABLE": 503,
}


class Problem(msgspec.Struct, frozen=True):
    """What a caller is told; in this shape (RFC 9457) over REST."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    retryable: bool
    attributes: dict[str, str]


def told(error: Exception, method: str) -> PenstockError:
    """The error a caller may see. What must stay inside is logged, under an id that the caller is given."""
    if isinstance(error, PenstockError):
        return error
    incident = new_id()
    log.error("edge.unforeseen", method=method, incident=incident, exc_info=error)
    return PenstockError(incident=incident)


def canonical(error: PenstockError) -> str:
    """The canonical status, by name."""
    codes = (vars(kind).get("code", "") for kind in type(error).__mro__)
    return next(_STATUS[code] for code in codes if code in _STATUS)


def problem(error: PenstockError) -> Problem:
    return Problem(
        type=f"urn:penstock:error:{error.code}",
        title=_clip(error.message),
        status=_HTTP[canonical(error)],
        detail=_clip(f"{error.message} {error.hint}".rstrip()),
        code=error.code,
        retryable=error.retryable,
        attributes={name: _clip(value) for name, value in error.attributes.items()},
    )


def _clip(value: Any) -> str:  # noqa: ANN401 - attributes are anything
    text = redact(str(value))
    return text if len(text) <= TEXT_LIMIT else text[: TEXT_LIMIT - 1] + "…"
