"""Test your own workflows: run a definition with scripted answers on virtual time, and look at what it did.

Drives the decider that production runs, and needs no server and no test framework.
"""

from penstock.testkit.workflow.answers import (
    Answer,
    Ask,
    approves,
    chooses,
    fails,
    never,
    rejects,
    returns,
    takes,
)
from penstock.testkit.workflow.definition import EPOCH, Workflow
from penstock.testkit.workflow.errors import (
    AnswersUnreadable,
    AnswersUsedUp,
    AnswerUnfit,
    NodeUnknown,
    NodeUnscripted,
    RunEndless,
    ScriptError,
)
from penstock.testkit.workflow.journal import Recorded
from penstock.testkit.workflow.run import Run
from penstock.testkit.workflow.written import script_from

__all__ = [
    "EPOCH",
    "Answer",
    "AnswerUnfit",
    "AnswersUnreadable",
    "AnswersUsedUp",
    "Ask",
    "NodeUnknown",
    "NodeUnscripted",
    "Recorded",
    "Run",
    "RunEndless",
    "ScriptError",
    "Workflow",
    "approves",
    "chooses",
    "fails",
    "never",
    "rejects",
    "returns",
    "script_from",
    "takes",
]
