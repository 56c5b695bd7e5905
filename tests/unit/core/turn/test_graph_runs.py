"""The loop with the real decider: a definition is fetched, tasks go out, results come in, a parent is told."""

from __future__ import annotations

from penstock.core.definition import check
from penstock.core.graph.decider import GraphDecider
from penstock.core.graph.programs import Programs
from penstock.core.model import commands as c
from penstock.core.model import effects as f
from penstock.core.model.decider import Facts
from penstock.core.model.time import Instant
from penstock.core.turn import inputs as i
from penstock.core.turn import outputs as o
from penstock.core.turn.run import Kind
from penstock.core.turn.shard import Shard
from penstock.expr.evaluator import ExpressionEvaluator
from tests.unit.core.turn.world import KEY, Asked, World

EVALUATOR = ExpressionEvaluator()
DEFINITION = {
    "name": "w",
    "nodes": [{"id": name, "type": "task", "queue": "q"} for name in ("a", "b")],
    "transitions": [{"from": "a", "to": "b"}],
}


class GraphWorld(World):
    """The same around it, other runs inside."""

    def take_over(self) -> None:
        super().take_over()
        self.shard = Shard({"start": Kind(GraphDecider(Programs(EVALUATOR)))}, self.limits)
        self.scans = []
        self.step(i.Gained(self.epoch, self.mark), *(self._delivery(delivery) for delivery in self.queue))

    def perform(self, request: Asked) -> i.Input:
        if isinstance(request, o.FetchFacts):
            return i.Fetched(request.ticket, Facts(dict.fromkeys(request.need.definitions, DEFINITION)))
        return super().perform(request)

    def tasks(self) -> list[f.DispatchTask]:
        return [effect for _, effect in self.published if isinstance(effect, f.DispatchTask)]

    def work(self, task: f.DispatchTask) -> None:
        result = c.TaskResult(task.token, task.attempt, task.nonce, "completed", {"done": task.node})
        self.send(result, f"{task.token}-{task.attempt}")
        self.settle()


def test_a_graph_run_goes_through_the_loop_and_through_a_crash() -> None:
    graph = check(DEFINITION, evaluator=EVALUATOR).hash
    world = GraphWorld()
    world.send(c.Start("w", graph, {"n": 1}, "seed", parent="p-1"), "c1", reply="inbox")
    assert world.asked(o.FetchFacts)
    world.settle()
    assert [task.node for task in world.tasks()] == ["a"]
    world.work(world.tasks()[0])
    world.published.clear()
    world.now = Instant(world.now + 1)
    world.take_over()  # with an empty cache, of programs too
    world.settle()
    (task,) = world.tasks()
    assert task.node == "b"
    world.work(task)
    assert [type(answer) for answer in world.answers] == [o.Accepted]
    assert [effect.parent for _, effect in world.published if isinstance(effect, f.ReportOutcome)] == ["p-1"]
    assert not world.queue
    assert not world.incidents
    assert world.shard._runs[KEY].state.status == "closed"
