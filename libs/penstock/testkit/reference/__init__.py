"""A second, plain interpreter of graph definitions, written from the rules alone: it predicts what any schedule gives.

    Reference(definition, evaluator).predict(run_input, script) -> Prediction

It shares no code with the decider, knows no schedule, clock or log, and is as simple as the rules allow.
"""

from penstock.testkit.reference.interpret import TooManyVisits
from penstock.testkit.reference.predict import Reference
from penstock.testkit.reference.prediction import (
    Compensation,
    Ending,
    Execution,
    Observed,
    Prediction,
    execution_key,
)
from penstock.testkit.reference.script import Answer, Asked, BranchPath, ByNode, Completed, Decided, Failed, Script

__all__ = [
    "Answer",
    "Asked",
    "BranchPath",
    "ByNode",
    "Compensation",
    "Completed",
    "Decided",
    "Ending",
    "Execution",
    "Failed",
    "Observed",
    "Prediction",
    "Reference",
    "Script",
    "TooManyVisits",
    "execution_key",
]
