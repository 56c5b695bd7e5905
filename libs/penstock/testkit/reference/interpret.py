"""One run in the canonical schedule: scope by scope, each worked off until nothing in it can move.

A failure does not stop its siblings here. They run to their end, and when the failure is settled, what it does not
depend on becomes `maybe`: that covers every schedule between "stopped at once" and "finished just before".
"""

from __future__ import annotations

from msgspec.structs import replace

from penstock.core.model.evaluate import Failure, apply_changes
from penstock.testkit.reference.choices import Choices
from penstock.testkit.reference.data import View, at_the_end, store
from penstock.testkit.reference.graph import Graph
from penstock.testkit.reference.groups import Groups
from penstock.testkit.reference.named import NamedJoins
from penstock.testkit.reference.prediction import Ending, Execution, Kind
from penstock.testkit.reference.races import Past, Races
from penstock.testkit.reference.route import RoutingFailed, Ways, after_failure, after_success
from penstock.testkit.reference.scope import Arrival, Fault, Scope, Token
from penstock.testkit.reference.script import Answer, Asked, Completed, Decided, Failed, Json, Script
from penstock.testkit.reference.shape import Edge, Node
from penstock.testkit.reference.summary import Terminal, summary

MAX_VISITS = 5_000
_KINDS: dict[str, Kind] = {
    "pass": "inline",
    "transform": "inline",
    "human": "approval",
    "wait": "wait",
    "workflow": "child",
    "workflow_call": "child",
}


class TooManyVisits(Exception):
    """The run is longer than the reference interpreter is meant for."""


class Visit:
    """A token at work: its event, its view of the data, and what it asked."""

    def __init__(self, token: Token, scope: Scope, node: Node, event: int, run_input: Json) -> None:
        self.token, self.scope, self.node, self.event = token, scope, node, event
        self.past: Past = token.past | 1 << event
        self.view = View(scope, run_input, event, self.past)
        self.view.error = token.error
        self.number = 0
        self.attempts = 0


class Run:
    def __init__(self, graph: Graph, run_input: Json, script: Script, choices: Choices, races: Races) -> None:
        self.graph, self.input, self.script, self.choices, self.races = graph, run_input, script, choices, races
        self.root = Scope(races)
        self.root.data = dict(graph.initial_state)
        self.executions: dict[int, Execution] = {}
        self.pasts: list[Past] = []
        """By event."""
        self.doomed: Past = 0
        """Events that some schedule of this ending stops."""
        self.terminals: list[Terminal] = []
        self.branches: dict[str, Json] = {}
        self._groups = Groups(self)
        self.named = NamedJoins(self)

    def play(self) -> Ending:
        for name in self.graph.entries:
            self.root.ready.append(Token(name, self.input, 0))
        self.settle(self.root)
        fault = None
        if self.root.faults:
            fault = self.root.faults[self.choices.among(len(self.root.faults))]
            self.doomed |= self.root.events & ~fault.past
        return summary(self, fault, at_the_end(self.root, self.input))

    def settle(self, scope: Scope) -> None:
        """Until no token of the scope can move any more."""
        while True:
            while scope.ready:
                self._visit(scope, self.next_token(scope))
            if scope.faults or not self.named.wake(scope):
                return

    def next_token(self, scope: Scope) -> Token:
        """Any of them would do, unless the prediction is left open."""
        return scope.ready.popleft()

    def new_event(self, scope: Scope, past: Past) -> int:
        event = len(self.pasts)
        if event >= MAX_VISITS:
            raise TooManyVisits
        self.pasts.append(past | 1 << event)
        for around in scope.outward():
            around.events |= 1 << event
        return event

    def _visit(self, scope: Scope, token: Token) -> None:
        node = self.graph.nodes[token.node]
        visit = Visit(token, scope, node, self.new_event(scope, token.past), self.input)
        if token.fault:
            self._fail(visit, token.fault)
            return
        given: Json | Failure = token.payload if node.input is None else visit.view.value(node.input)
        if isinstance(given, Failure):
            self.races.report(f"the input mapping of {node.id} failed: the rules give that no code")
            self._fail(visit, Fault(None, node.id, visit.past))
            return
        visit.number = scope.visits[node.id] = scope.visits.get(node.id, 0) + 1
        if self.script.counts_visits:
            scope.accesses.write(("visits", node.id), visit.event, visit.past, seen=True)
        answer = self._answer(visit, given)
        failed = isinstance(answer, Failed) or (
            isinstance(answer, Decided) and not answer.approved and not node.rejected
        )
        output = answer.output if isinstance(answer, Completed) else None
        if isinstance(answer, Decided):
            output = {**given, "decision": "approved" if answer.approved else "rejected"} if given else {}
        self.executions[visit.event] = Execution(
            node.id,
            scope.path,
            visit.number,
            given,
            _KINDS.get(node.type, "task"),
            visit.attempts,
            not failed,
            output,
            None,
        )
        if failed:
            self._fail(visit, _fault_of(visit, answer))
        else:
            self._complete(visit, output, answer)

    def _answer(self, visit: Visit, given: Json) -> Answer:
        """Asks once per attempt, until it is done or may not be tried again."""
        node = visit.node
        if _KINDS.get(node.type) == "inline":
            return Completed(given)
        while True:
            visit.attempts += 1
            answer = self.script(Asked(node.id, visit.scope.path, visit.number, visit.attempts, given))
            retry = isinstance(answer, Failed) and answer.retryable
            retry = retry or _strays(node, answer)
            if not retry or visit.attempts >= node.attempts:
                return answer

    def _complete(self, visit: Visit, output: Json, answer: Answer) -> None:
        visit.view.error = None
        visit.view.own["output"] = output
        try:
            if not _strays(visit.node, answer):  # else the attempt failed, and may have been tried again
                self._store(visit, output)
            if isinstance(answer, Decided) and not answer.approved and visit.node.rejected:
                ways: Ways = visit.node.rejected
            else:
                next_nodes = answer.next_nodes if isinstance(answer, Completed) else ()
                ways = after_success(visit.node, visit.view, self._count(visit), next_nodes)
            if not ways:
                self.terminals.append(Terminal(visit.node.id, output, visit.scope, visit.event))
            self._take(visit, ways, output)
        except RoutingFailed as failure:
            self._fail(visit, Fault(failure.code, visit.node.id, visit.past, visit.attempts))

    def _store(self, visit: Visit, output: Json) -> None:
        """Output schema, output mapping, state schema, store."""
        node, scope = visit.node, visit.scope
        if node.output_schema and node.output_schema.evaluate({"output": output}) is not True:
            raise RoutingFailed("OUTPUT_SCHEMA")
        if node.output is not None:
            changes = node.output.evaluate(visit.view.variables(node.output.reads))
            data = changes if isinstance(changes, Failure) else apply_changes(scope.data, changes)
            if isinstance(changes, Failure) or isinstance(data, Failure):
                self.races.report("an output mapping failed: the rules give that no code")
                raise RoutingFailed("EXPR_EVALUATION")
            schema = None if scope.parent else self.graph.state_schema
            if schema and schema.evaluate({"output": data}) is not True:
                raise RoutingFailed("STATE_SCHEMA")
            store(scope, data, changes, visit.event, visit.past)
        scope.accesses.write(("nodes", node.id), visit.event, visit.past, seen=False)
        scope.outputs[node.id] = output

    def _count(self, visit: Visit) -> int:
        """Executions of a looping node in its scope, this one included."""
        node, scope = visit.node, visit.scope
        if not any(cycle.source == node.id for cycle in self.graph.cycles):
            return 0
        scope.accesses.write(("loop", node.id), visit.event, visit.past, seen=True)
        count = scope.counts[node.id] = scope.counts.get(node.id, 0) + 1
        visit.view.own["loop"] = {"iteration": count}
        return count

    def _fail(self, visit: Visit, fault: Fault) -> None:
        if visit.event in self.executions:
            done = self.executions[visit.event]
            self.executions[visit.event] = replace(done, fault=fault.code or "UNSPECIFIED")
        visit.view.error = fault.as_data()
        try:
            ways = after_failure(visit.node, visit.view)
            if ways:
                self._take(visit, ways, None)
                return
        except RoutingFailed:
            self.races.report(f"the routing after a failure of {visit.node.id} failed")
        visit.scope.faults.append(fault)

    def _take(self, visit: Visit, ways: Ways, payload: Json) -> None:
        opened = self._groups.items(visit, ways, payload)
        self._leave_loops(visit, ways)
        for edge in ways:
            if edge.group is None:
                self.move(visit, edge, payload)
        for group, items in opened.items():
            self._groups.open(visit, group, items)

    def _leave_loops(self, visit: Visit, ways: Ways) -> None:
        """The count of a loop is dropped when a token leaves its body, or ends at the looping node."""
        for cycle in self.graph.cycles_around(visit.node.id):
            left = any(edge.to not in cycle.body for edge in ways) or (not ways and cycle.source == visit.node.id)
            if left and cycle.source in visit.scope.counts:
                visit.scope.accesses.write(("loop", cycle.source), visit.event, visit.past, seen=True)
                del visit.scope.counts[cycle.source]

    def move(self, visit: Visit, edge: Edge, payload: Json) -> None:
        scope, target = visit.scope, self.graph.nodes[edge.to]
        if edge.join and scope.group and edge.join.group in {None, scope.group}:
            scope.arrivals.append(Arrival(visit.node.id, payload, visit.past))
        elif target.waits and not (visit.node.loop and edge in visit.node.loop.back):
            self.named.arrive(scope, target, Arrival(visit.node.id, payload, visit.past), visit.event)
        else:
            scope.ready.append(Token(edge.to, payload, visit.past, visit.view.error))


def _strays(node: Node, answer: Answer) -> bool:
    """An agent chose what it may not."""
    if not isinstance(answer, Completed) or node.branch is None or not node.branch.agent:
        return False
    return not node.branch.available.issuperset(answer.next_nodes)


def _fault_of(visit: Visit, answer: Answer) -> Fault:
    """A child's failure is the cause of its node's; a rejection that leads nowhere has no code in the rules."""
    if not isinstance(answer, Failed):
        return Fault(None, visit.node.id, visit.past, visit.attempts)
    fault = Fault(answer.code, visit.node.id, visit.past, visit.attempts, answer.retryable)
    if _KINDS.get(visit.node.type) == "child":
        return Fault("CHILD_FAILED", visit.node.id, visit.past, visit.attempts, cause=fault)
    return fault
