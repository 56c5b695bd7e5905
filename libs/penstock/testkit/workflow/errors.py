"""What is wrong with the script of a tested run.

ScriptError
├── NodeUnknown         there is no such node
├── NodeUnscripted      the run asks for work that nobody scripted
├── AnswersUsedUp       more was asked than was scripted
├── AnswerUnfit         an answer of the wrong kind, such as an output where a person decides
├── AnswersUnreadable   a file of answers says something that is no answer
└── RunEndless          it goes on and on
"""

from __future__ import annotations

from penstock.core.errors import PenstockError


class ScriptError(PenstockError):
    """The script does not fit the run: {reason}."""

    code = "SCRIPT"


class NodeUnknown(ScriptError):
    """The workflow has no node {node!r}.

    It has {known}.
    """

    code = "NODE_UNKNOWN"


class NodeUnscripted(ScriptError):
    """Node {node!r} asks for a {kind}, and nothing says how it is answered. Its input: {input}.

    Script it before the run comes there: `{verb}`; or let chance answer what is not scripted: `at_random(seed)`.
    """

    code = "NODE_UNSCRIPTED"


class AnswersUsedUp(ScriptError):
    """Node {node!r} has {count} answers, and is asked once more.

    Add one for each attempt it makes, or give a single one: that holds for all of them.
    """

    code = "ANSWERS_USED_UP"


class AnswerUnfit(ScriptError):
    """Node {node!r} asks for a {kind}, which {answer} does not answer.

    It takes {takes}.
    """

    code = "ANSWER_UNFIT"


class AnswersUnreadable(ScriptError):
    """The answer at {path} cannot be used: {reason}.

    An output that looks like an instruction goes into `returns`: `{{returns: {{fail: 3}}}}`.
    """

    code = "ANSWERS_UNREADABLE"


class RunEndless(ScriptError):
    """The run is still going on after {steps} steps.

    It may loop for ever on these answers: `print(run.history())` shows where.
    """

    code = "RUN_ENDLESS"
