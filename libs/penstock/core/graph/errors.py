"""Why a command was refused.

DomainError
├── IllegalTransition     the run, or the thing named, is not in a state that allows it
├── UnknownTarget         no such token, timer, approval or child
├── NotStandalone         a workflow that only runs as a child
├── RevisionConflict      the definition was changed by somebody else
├── PatchInvalid          what a patch leads to is no valid definition
├── PatchConflict         it does not fit what the run is doing
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


class RevisionConflict(DomainError):
    """The run is at revision {revision}, not at {expected}.

    Somebody changed it in between: look at what it is now, and patch that.
    """

    code = "REVISION_CONFLICT"


class PatchInvalid(DomainError):
    """The patch has {count} errors, the first {first}.

    The attribute `problems` lists all of them; nothing was changed.
    """

    code = "PATCH_INVALID"


class PatchConflict(DomainError):
    """The patch does not fit what the run is doing: {first}.

    The attribute `conflicts` lists every node that stands in the way; nothing was changed.
    """

    code = "PATCH_CONFLICT"


class SignalsFull(DomainError):
    """{limit} signals wait already, and nobody takes them.

    Wait until the run consumes some, or start another one.
    """

    code = "SIGNALS_FULL"
    retryable = True
