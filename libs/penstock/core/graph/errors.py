"""Why a command was refused.

DomainError
├── IllegalTransition     the run, or the thing named, is not in a state that allows it
├── UnknownTarget         no such token, timer, approval or child
├── NotStandalone         a workflow that only runs as a child
└── SignalsFull
"""

from __future__ import annotations

from penstock.core.errors import PenstockError


class DomainError(PenstockError):
    """The run refused: {reason}."""

    code = "DOMAIN"


class IllegalTransition(DomainError):
    """{what} cannot go from {now} to {asked}.

    `penstock run why` says what the run is waiting for.
    """

    code = "ILLEGAL_TRANSITION"


class UnknownTarget(DomainError):
    """This run has no {kind} {name!r}.

    It may have ended; the history shows when.
    """

    code = "UNKNOWN_TARGET"


class NotStandalone(DomainError):
    """{workflow} only runs as a child of another workflow.

    Start the one that calls it, or take `standalone: false` out of its definition.
    """

    code = "NOT_STANDALONE"


class SignalsFull(DomainError):
    """{limit} signals wait already, and nobody takes them.

    Wait until the run consumes some, or start another one.
    """

    code = "SIGNALS_FULL"
    retryable = True
