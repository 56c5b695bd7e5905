"""What the rules fix about a run, whatever the schedule.

A prediction is a set of endings. A schedule may choose between endings (which branch an `any` join takes, which
failure comes first), never end otherwise. Where the rules leave values to the schedule, `open` says why, and then
only termination is predicted.
"""

from __future__ import annotations

from collections import Counter
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.json import encode

from penstock.testkit.reference.script import BranchPath, Json

Kind: TypeAlias = Literal["inline", "task", "approval", "wait", "child"]
Key: TypeAlias = tuple[str, BranchPath, bytes]
"""Node, branch path and input (as JSON with sorted keys), which together name an execution in a multiset."""


class Execution(Struct, frozen=True):
    """One visit of a node that was dispatched."""

    node: str
    path: BranchPath
    visit: int
    input: Json
    kind: Kind
    attempts: int
    """Executions of the work, retries included."""
    completed: bool
    """The work succeeded; its effect stands even if the routing after it failed."""
    output: Json
    fault: str | None
    """Code of the failure of the node, by its work or by the routing after it."""

    @property
    def key(self) -> Key:
        return execution_key(self.node, self.path, self.input)


class Compensation(Struct, frozen=True):
    """What must be undone. `certain`: in every schedule; else only if it completed before it was cancelled."""

    node: str
    path: BranchPath
    input: Json
    output: Json
    certain: bool
    before: tuple[int, ...]
    """Positions in `Ending.compensations` of what completed earlier in every schedule, so is undone later."""


class Ending(Struct, frozen=True):
    outcome: Literal["completed", "failed"]
    codes: tuple[str | None, ...]
    """The failure's code, then its causes. None: the rules give it no code."""
    output: Json
    """Of a completed run."""
    state: Json
    state_known: bool
    """False where a failure stops others that may or may not have written."""
    executions: tuple[Execution, ...]
    """In every schedule that ends like this, exactly once."""
    maybe: tuple[Execution, ...]
    """Each at most once, and perhaps with fewer attempts: what a failure or an early join may have stopped."""
    compensations: tuple[Compensation, ...]

    def certain(self) -> Counter[Key]:
        return Counter(execution.key for execution in self.executions)

    def possible(self) -> Counter[Key]:
        return self.certain() + Counter(execution.key for execution in self.maybe)

    def effects(self) -> dict[Kind, Counter[Key]]:
        """What was asked of the outside, every attempt counted; certain ones only."""
        asked: dict[Kind, Counter[Key]] = {}
        for execution in self.executions:
            if execution.kind != "inline":
                asked.setdefault(execution.kind, Counter())[execution.key] += execution.attempts
        return asked


class Observed(Struct, frozen=True):
    """What a real run did, to be held against a prediction."""

    outcome: str
    code: str | None
    output: Json
    state: Json
    executions: Counter[Key]


class Prediction(Struct, frozen=True):
    endings: tuple[Ending, ...]
    open: tuple[str, ...]
    """Why values depend on the schedule; empty if they do not."""

    @property
    def exact(self) -> bool:
        """There is one ending and it is the only one."""
        return len(self.endings) == 1 and not self.open

    @property
    def ending(self) -> Ending:
        """The only ending, or the one of the canonical schedule."""
        return self.endings[0]

    def differences(self, run: Observed) -> tuple[str, ...]:
        """How the run differs from the ending that is nearest to it; empty if it may end like that."""
        if self.open:
            return ()
        return min((_differences(ending, run) for ending in self.endings), key=len)


def execution_key(node: str, path: BranchPath, value: Json) -> Key:
    return node, path, encode(value, order="sorted")


def _differences(ending: Ending, run: Observed) -> tuple[str, ...]:
    found = []
    if run.outcome != ending.outcome:
        found.append(f"outcome {run.outcome}, expected {ending.outcome} {ending.codes}")
    elif ending.outcome == "failed" and None not in ending.codes and run.code not in ending.codes:
        found.append(f"code {run.code}, expected one of {ending.codes}")
    elif ending.outcome == "completed" and run.output != ending.output:
        found.append(f"output {run.output!r}, expected {ending.output!r}")
    if ending.state_known and run.state != ending.state:
        found.append(f"state {run.state!r}, expected {ending.state!r}")
    found.extend(f"missing {key} x{count}" for key, count in (ending.certain() - run.executions).items())
    found.extend(f"too much {key} x{count}" for key, count in (run.executions - ending.possible()).items())
    return tuple(found)
