"""What can be wrong with a condition, a mapping or a script.

    ExprError
    ├── CompileError              at registration: line, column and what was expected
    │   └── ExpressionTooComplex  it compiles, but could run away
    └── EvaluationError           at run time
        ├── LimitExceeded         stopped at its time, memory, step or size limit
        └── SandboxUnavailable    the worker that runs user code could not be started

Evaluation of a condition returns a `Failure` value instead of raising (an error must never pass for false);
these classes are for compilation, and for scripts, whose caller awaits a result.
"""

from __future__ import annotations

from penstock.core.errors import PenstockError


class ExprError(PenstockError):
    """An expression failed: {reason}."""

    code = "EXPR"


class CompileError(ExprError):
    """{language} at line {line}, column {column}: {reason}.

    Expected {expected}.
    """

    code = "EXPR_COMPILE"


class ExpressionTooComplex(CompileError):
    """{language} expression could run away: {reason}.

    Make it smaller, or move the work into a task. The limit is {limit}.
    """

    code = "EXPR_TOO_COMPLEX"


class EvaluationError(ExprError):
    """{language} failed: {reason}.

    The expression compiled, but not for this data. `penstock expr eval` runs it on any input.
    """

    code = "EXPR_EVALUATION"


class LimitExceeded(EvaluationError):
    """{language} was stopped at its {limit} limit.

    Make it cheaper, or raise the limit where the script is registered.
    """

    code = "EXPR_LIMIT"


class SandboxUnavailable(EvaluationError):
    """No {language} sandbox could be started: {reason}.

    `penstock doctor` says which engines this machine has.
    """

    code = "EXPR_SANDBOX"
    retryable = True
