"""A tested run: the real decider on a clock that stands still, with the world around it scripted."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from penstock.core.graph.decider import GraphDecider
from penstock.core.graph.errors import UnknownTarget
from penstock.core.graph.explain import Explanation, explain
from penstock.core.graph.program import Program
from penstock.core.graph.state import ROOT, State, Status
from penstock.core.model import commands as c
from penstock.core.model import effects as f
from penstock.core.model.decider import Facts, Memo, Need
from penstock.core.model.events import Event, Fault, Outcome, SignalAwaited
from penstock.core.model.time import SECOND, Instant
from penstock.testkit.workflow.answers import Duration, microseconds
from penstock.testkit.workflow.errors import RunEndless
from penstock.testkit.workflow.journal import Journal, Recorded
from penstock.testkit.workflow.questions import AwaitSignal
from penstock.testkit.workflow.script import Scripted
from penstock.testkit.workflow.world import STEPS, World

if TYPE_CHECKING:
    from penstock.testkit.workflow.definition import Workflow

Json: TypeAlias = Any


class Run(Scripted):
    """One run. Nothing moves until a verb says so: each lets the world do first what it can do now, and again after.

    Reading moves nothing.
    """

    def __init__(self, workflow: Workflow, start: c.Start, world: World, parent: Run | None = None) -> None:
        self.workflow = workflow
        self.id = start.run
        self.parent = parent
        self.children: dict[str, Run] = {}
        """By run id, in the order in which they were started."""
        self.script = workflow.script.copy(lambda: frozenset(self.program.nodes))
        if parent is not None:
            self.script.fall_back_to(parent.script)
        self.engine_state = State()
        self._decider = GraphDecider(workflow.programs)
        self._world = world
        self._journal = Journal()
        self._inputs: dict[str, dict[object, Json]] = {}
        self._serial = count(1)
        world.runs.append(self)
        self.send(start)

    # -- what a test does

    def until_idle(self) -> Self:
        """Until nothing can go on without time passing, or somebody doing something."""
        self._world.work()
        return self

    def advance(self, duration: Duration) -> Self:
        """Let time pass: timers fire and slow answers come, each at its own moment."""
        self._world.pass_time(Instant(self._world.now + microseconds(duration)))
        return self

    def until_closed(self) -> Self:
        """Skip from moment to moment until the run has closed, or waits for what no time brings."""
        self._world.work()
        for _ in range(STEPS):
            if self.status == "closed" or self._world.next_moment() is None:
                return self
            self._world.move_on()
        raise RunEndless(steps=STEPS)

    def approve(self, target: str, by: str = "somebody", *, comments: str = "", data: Json = None) -> Self:
        """Decide the oldest open approval of that node, or the one with that id."""
        return self._decide_approval(target, "approved", by, comments, data)

    def reject(self, target: str, by: str = "somebody", *, comments: str = "", data: Json = None) -> Self:
        return self._decide_approval(target, "rejected", by, comments, data)

    def signal(self, name: str, payload: Json = None) -> Self:
        return self._do(c.SendSignal(f"signal-{next(self._serial)}", name, payload))

    def cancel(self, reason: str = "", *, force: bool = False) -> Self:
        return self._do(c.Cancel(reason, force))

    def pause(self) -> Self:
        return self._do(c.Pause())

    def resume(self) -> Self:
        return self._do(c.Resume())

    def compensate(self) -> Self:
        """Undo a closed run."""
        return self._do(c.Compensate())

    def patch(self, *operations: Json, by: str = "somebody") -> Self:
        """Change this run's definition, by JSON Patch."""
        return self._do(c.Patch(f"patch-{next(self._serial)}", operations, by))

    def retry_parked(self, node: str) -> Self:
        return self._do(c.RetryParked(self._parked(node)))

    def drop_parked(self, node: str) -> Self:
        return self._do(c.DropParked(self._parked(node)))

    # -- what came of it

    @property
    def status(self) -> Status:
        return self.engine_state.status

    @property
    def outcome(self) -> Outcome | None:
        return self.engine_state.outcome

    @property
    def output(self) -> Json:
        return self.engine_state.output

    @property
    def fault(self) -> Fault | None:
        """Why it failed, if it did."""
        return self.engine_state.fault

    @property
    def state(self) -> dict[str, Json]:
        """The workflow's `state`."""
        return self.engine_state.scopes[ROOT].data

    @property
    def now(self) -> datetime:
        return datetime.fromtimestamp(self._world.now / SECOND, UTC)

    @property
    def path(self) -> list[str]:
        """Nodes that completed, in order."""
        return list(self._journal.path)

    @property
    def undone(self) -> list[str]:
        """Nodes that were compensated, in order."""
        return self._journal.undone()

    @property
    def events(self) -> list[Recorded]:
        return list(self._journal.events)

    def visits(self, node: str) -> int:
        """How many tokens began the node."""
        return self._journal.visits(node)

    def attempts(self, node: str) -> int:
        """How often its work was handed out."""
        return self._journal.attempts(node)

    def inputs(self, node: str) -> list[Json]:
        """What its workers, people or children were given, once per visit."""
        return list(self._inputs.get(node, {}).values())

    def outputs(self, node: str) -> list[Json]:
        return self._journal.outputs(node)

    def child(self, node: str) -> Run:
        """The latest that the node started."""
        tokens = self._journal.tokens_of(node)
        found = [run for name, run in self.children.items() if int(name.rsplit(".", 2)[1]) in tokens]
        if not found:
            raise UnknownTarget(kind="child of node", name=node)
        return found[-1]

    def history(self) -> str:
        """Every event, as a table to print."""
        return self._journal.table()

    def why(self) -> Explanation:
        """What it waits for: `print(run.why().sentence)`."""
        return explain(self.program, self.engine_state, self._world.now)

    # -- the decider

    @property
    def program(self) -> Program:
        return self.workflow.programs.find(self.engine_state, self.workflow.definitions)

    def send(self, command: c.Command) -> None:
        """Decide one command. Raises `DomainError` if it is refused."""
        now, facts = self._world.now, Facts(self.workflow.definitions)
        while isinstance(found := self._decider.decide(self.engine_state, command, now, facts), Need):
            self._rebuild()
            facts = self._fetch(found, facts)
        for event in found:
            self._journal.record(event, now)
        for effect in self._decider.effects(self.engine_state, found, facts):
            self._note(effect)
            self._world.take(self, effect)
        self._await_signals(found)

    def registered(self, asked: f.StartChild) -> Workflow | None:
        """Known to this run's workflow, or to that of a run around it."""
        found = self.workflow.find(asked.workflow, asked.version)
        return found or (self.parent.registered(asked) if self.parent else None)

    def start_child(self, workflow: Workflow, asked: f.StartChild) -> None:
        start = c.Start(
            workflow=workflow.name,
            graph=workflow.hash,
            input=asked.input,
            seed=asked.child,
            run=asked.child,
            parent=self.id,
            depth=asked.depth,
            deadline=asked.deadline,
            artifacts=asked.artifacts,
        )
        self.children[asked.child] = Run(workflow, start, self._world, self)

    def _do(self, command: c.Command) -> Self:
        self._world.work()
        self.send(command)
        self._world.work()
        return self

    def _decide_approval(
        self, target: str, decision: Literal["approved", "rejected"], by: str, comments: str, data: Json
    ) -> Self:
        self._world.work()
        state = self.engine_state
        asked = [name for name, token in state.approvals.items() if target in {name, state.tokens[token].node}]
        if not asked:
            raise UnknownTarget(kind="open approval", name=target)
        return self._do(c.DecideApproval(asked[0], decision, by, comments, data))

    def _parked(self, node: str) -> int:
        self._world.work()
        tokens = self.engine_state.tokens.values()
        parked = [token.id for token in tokens if token.node == node and token.status == "parked"]
        if not parked:
            raise UnknownTarget(kind="parked token on", name=node)
        return min(parked)

    def _fetch(self, need: Need, facts: Facts) -> Facts:
        """What there is of it; the rest is not there."""
        definitions = {**facts.definitions, **{key: self.workflow.definitions.get(key) for key in need.definitions}}
        memos: dict[str, Memo | None] = {key: self.workflow.memos.get(key) for key in need.memos}
        return Facts(definitions, facts.blobs, {**facts.memos, **memos})

    def _rebuild(self) -> None:
        """A decision that needs more has half-changed the state."""
        self.engine_state = State()
        for recorded in self._journal.events:
            self._decider.evolve(self.engine_state, recorded.event, recorded.at)

    def _note(self, effect: f.Effect) -> None:
        match effect:
            case f.DispatchTask(purpose="node", token=token, node=node):
                self._inputs.setdefault(node, {}).setdefault(token, effect.input)
            case f.AskApproval(approval=approval, node=node):
                self._inputs.setdefault(node, {}).setdefault(approval, effect.input)
            case f.StartChild(child=child):
                token = self.engine_state.children[child]
                node = self.engine_state.tokens[token].node
                self._inputs.setdefault(node, {}).setdefault(token, effect.input)
            case f.SaveMemo():
                self.workflow.memos[effect.memo] = Memo(effect.output)

    def _await_signals(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, SignalAwaited) and event.name:
                self._world.take(self, AwaitSignal(event.token, event.name))
