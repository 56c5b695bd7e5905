"""Why a command is given up.

TurnError
├── RunUnknown             there is no such run, and none came
├── CommandUndecodable     its bytes are no command
├── DecisionFailed         the decider raised, which it never should
├── FactsMissing           what the decision needs is not there
├── CommitRefused          the log does not take the commit
├── EffectRefused          what the run asked for cannot be sent
├── RunUnreadable          the run's log cannot be folded
└── KindUnknown            this coordinator cannot decide runs of that kind
"""

from __future__ import annotations

from penstock.core.errors import PenstockError
from penstock.core.model.events import Fault


class TurnError(PenstockError):
    """The coordinator gave up: {reason}."""

    code = "TURN"


class RunUnknown(TurnError):
    """There is no run {run!r}.

    Check its id and tenant. A command that comes before its run is started waits for a while, then is a dead letter.
    """

    code = "RUN_UNKNOWN"


class CommandUndecodable(TurnError):
    """Command {id} cannot be decoded: {reason}.

    It was sent by something else, or by a newer Penstock. The bytes are kept as a dead letter.
    """

    code = "COMMAND_UNDECODABLE"


class DecisionFailed(TurnError):
    """Deciding {kind} {id} raised {reason}.

    Please report it with the dead letter. The run has not been touched; other commands of it go on.
    """

    code = "DECISION_FAILED"


class FactsMissing(TurnError):
    """What is needed to decide {kind} {id} is not there: {reason}.

    Store the definition or blob again, then send the dead letter once more.
    """

    code = "FACTS_MISSING"


class CommitRefused(TurnError):
    """The log does not take what follows from {kind} {id}: {reason}.

    Make the payload smaller, or raise the limit that it names; then send the dead letter once more.
    """

    code = "COMMIT_REFUSED"


class EffectRefused(TurnError):
    """What the run asks for cannot be sent: {reason}.

    Its task fails when its time is up. Mend the definition, or raise the limit that it names.
    """

    code = "EFFECT_REFUSED"


class RunUnreadable(TurnError):
    """Run {run!r} cannot be loaded: {reason}.

    `penstock verify` says where its log is damaged. Its commands become dead letters until it is mended.
    """

    code = "RUN_UNREADABLE"


class KindUnknown(TurnError):
    """This coordinator decides no runs that begin with {kind!r}.

    Upgrade it. Until then the run's commands wait.
    """

    code = "KIND_UNKNOWN"


def fault_of(error: PenstockError) -> Fault:
    """As it stands in the log and on a dead letter."""
    details = {name: str(value) for name, value in error.attributes.items()}
    return Fault(error.code, error.message, retryable=error.retryable, details=details)
