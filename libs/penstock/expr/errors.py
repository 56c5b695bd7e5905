"""What can be wrong with a condition, a mapping or a script.

    ExprError
    ├── CompileError              at registration: line, column and what was expected
    │   ├── ConditionInvalid      a condition object with a wrong field
    │   ├── MappingInvalid        every field of a mapping that does not compile
    │   └── ExpressionTooComplex  it compiles, but could run away
    └── EvaluationError           at run time
        ├── NotBoolean            a condition that gave something else than true or false
        ├── Sandboxed             user code that must run as work, evaluated in place
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


class ConditionInvalid(CompileError):
    """{language} is not put together correctly: {reason}.

    Expected {expected}.
    """

    code = "EXPR_CONDITION"


class MappingInvalid(CompileError):
    """The mapping has fields that do not compile: {summary}.

    Correct the fields named; `penstock expr eval` tries an expression on any input.
    """

    code = "EXPR_MAPPING"


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


class NotBoolean(EvaluationError):
    """{language} gave {result} where a condition must give true or false.

    Compare the value with something.
    """

    code = "EXPR_NOT_BOOLEAN"


class Sandboxed(EvaluationError):
    """{language} runs user code, and that was asked for inside a decision.

    Run the condition's programs as work first, then evaluate it with their verdicts.
    """

    code = "EXPR_SANDBOXED"


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
