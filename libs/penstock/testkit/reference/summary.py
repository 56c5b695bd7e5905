"""The ending of a finished run: outcome, output, what surely ran, what perhaps, what must be undone."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from penstock.core.model.evaluate import Failure
from penstock.testkit.reference.data import View
from penstock.testkit.reference.prediction import Compensation, Ending
from penstock.testkit.reference.scope import Fault, Scope
from penstock.testkit.reference.script import Json

if TYPE_CHECKING:
    from penstock.testkit.reference.interpret import Run


class Terminal(NamedTuple):
    """A completion after which its token went nowhere."""

    node: str
    output: Json
    scope: Scope
    event: int


def summary(run: Run, fault: Fault | None, view: View) -> Ending:
    sure = ~run.doomed
    certain = [done for event, done in run.executions.items() if sure >> event & 1]
    maybe = [done for event, done in run.executions.items() if not sure >> event & 1]
    return Ending(
        "failed" if fault else "completed",
        fault.codes if fault else (),
        None if fault else _output(run, view),
        run.root.data,
        fault is None or not run.root.accesses.written_outside("state", sure),
        tuple(certain),
        tuple(maybe),
        tuple(_compensations(run)) if fault else (),
    )


def _output(run: Run, view: View) -> Json:
    if run.graph.output is None:
        return _default_output(run)
    reads = run.graph.output.reads
    if any(read[0] == "_branches" for read in reads):
        run.root.accesses.read(("_branches",), 0, -1)
        view.own["_branches"] = run.branches
    output = view.value(run.graph.output)
    if isinstance(output, Failure):
        run.races.report("the output of the run failed: the rules give that no code")
        return None
    return output


def _default_output(run: Run) -> Json:
    """Of the one terminal completion, else by node: of none, nothing by node."""
    by_node: dict[str, list[Terminal]] = {name: [] for name in run.graph.nodes}
    for terminal in sorted(run.terminals, key=lambda one: (one.scope.path, one.event)):
        if run.doomed >> terminal.event & 1:
            run.races.report(f"{terminal.node} ends the run only if nothing stopped it before")
        elif any(scope.faults for scope in terminal.scope.outward()):
            run.races.report(f"{terminal.node} ended in a branch that failed: the rules do not say if that counts")
        by_node[terminal.node].append(terminal)
    for terminals in by_node.values():
        for one, other in pairwise(terminals):
            if one.scope.path == other.scope.path and not run.pasts[other.event] >> one.event & 1:
                run.races.report(f"{one.node} ends twice in one scope, in an order that depends on the schedule")
    outputs = {name: [one.output for one in found] for name, found in by_node.items() if found}
    if sum(map(len, outputs.values())) == 1:
        return next(iter(outputs.values()))[0]
    return {name: found[0] if len(found) == 1 else found for name, found in outputs.items()}


def _compensations(run: Run) -> list[Compensation]:
    """A child that completed is one unit: if its node has no way to undo it, it is told to undo itself."""
    done = [
        (event, execution)
        for event, execution in run.executions.items()
        if execution.completed and (run.graph.nodes[execution.node].compensated or execution.kind == "child")
    ]
    return [
        Compensation(
            execution.node,
            execution.path,
            execution.input,
            execution.output,
            not run.doomed >> event & 1,
            tuple(at for at, (other, _) in enumerate(done) if other != event and run.pasts[event] >> other & 1),
        )
        for event, execution in done
    ]
