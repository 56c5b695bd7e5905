"""Mid-flight patches: graph-rules, "Patches", sentence by sentence, and trap 9."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.definition import compile_definition
from penstock.core.graph.decide import decide
from penstock.core.graph.effects import effects, outstanding
from penstock.core.graph.errors import (
    DomainError,
    IllegalTransition,
    PatchConflict,
    PatchInvalid,
    RevisionConflict,
    UnknownTarget,
)
from penstock.core.graph.program import Program, Source
from penstock.core.graph.state import State
from penstock.core.model import commands as c
from penstock.core.model import effects as f
from penstock.core.model import events as e
from penstock.core.model.decider import Facts, Missing
from penstock.core.model.time import SECOND, Instant
from tests.unit.core.graph.drive import EVALUATOR, Drive, graph

Json = Any


def task(name: str, **more: Json) -> dict[str, Json]:
    return {"id": name, "type": "task", "queue": "q", **more}


def ways(*pairs: str) -> list[dict[str, Json]]:
    return [{"from": pair[0], "to": pair[1]} for pair in pairs]


def patch(run: Drive, *operations: Json, **more: Json) -> Drive:
    return run.send(c.Patch(more.pop("id", f"p{run.state.revision}"), operations, **more))


def replace(path: str, value: Json) -> Json:
    return {"op": "replace", "path": path, "value": value}


def add(path: str, value: Json) -> Json:
    return {"op": "add", "path": path, "value": value}


def remove(path: str) -> Json:
    return {"op": "remove", "path": path}


def patched(run: Drive) -> e.RunPatched:
    return [event for event, _ in run.log if isinstance(event, e.RunPatched)][-1]


def source(run: Drive) -> Source:
    assert run.program.source is not None
    return run.program.source


def refused(run: Drive, *operations: Json) -> DomainError:
    """The patch is, and nothing has happened."""
    log = list(run.log)
    with pytest.raises(DomainError) as caught:
        patch(run, *operations)
    assert run.log == log
    assert run.rebuilt() == run.state
    return caught.value


def blocked(run: Drive, *operations: Json) -> list[str]:
    """The nodes that stand in the way."""
    error = refused(run, *operations)
    assert isinstance(error, PatchConflict)
    found: Any = error.attributes["conflicts"]
    return [conflict["node"] for conflict in found]


# -- every decision after run.patched uses the new revision


def test_every_decision_after_run_patched_uses_the_new_revision() -> None:
    run = Drive(graph("a", "b", transitions=ways("ab"))).start()
    patch(run, add("/nodes/-", task("c")), add("/edges/-", {"from": "b", "to": "c"}))
    assert run.complete("a").complete("b").complete("c", 3).output == 3


def test_the_token_of_the_agent_that_patches_is_routed_by_its_patch() -> None:
    """Seed 002: the agent patches the workflow while its own task is under way."""
    run = Drive(graph("agent", "b", transitions=[{"from": "agent", "to": "b"}])).start()
    patch(run, add("/nodes/-", task("email")), add("/edges/-", {"from": "agent", "to": "email"}))
    run.complete("agent")
    assert [task_.node for task_ in run.open()] == ["b", "email"]


def test_an_attempt_already_dispatched_keeps_its_config() -> None:
    run = Drive(graph(task("a", config={"url": "old"}, timeout="1m"))).start()
    patch(
        run, replace("/nodes/a/config/url", "new"), replace("/nodes/a/queue", "other"), replace("/nodes/a/timeout", 9)
    )
    (task_,) = run.open()
    assert (task_.config, task_.queue, task_.timeout) == ({"url": "old"}, "q", 60_000)


def test_the_next_attempt_uses_the_new_config() -> None:
    run = Drive(graph(task("a", config={"url": "old"}, retry={"max_attempts": 3, "delay": 1}))).start()
    patch(run, replace("/nodes/a/config/url", "new"))
    run.fail("a", retryable=True).advance(2)
    assert [(task_.attempt, task_.config) for task_ in run.open()] == [(2, {"url": "new"})]


def test_an_attempt_keeps_its_config_through_a_second_patch() -> None:
    run = Drive(graph(task("a", config={"v": 1}), task("b", config={"v": 1}), transitions=ways("ab"))).start()
    patch(patch(run, replace("/nodes/a/config/v", 2)), replace("/nodes/a/config/v", 3), replace("/nodes/b/config/v", 3))
    assert run.open()[0].config == {"v": 1}
    assert len(run.state.begun) == 1
    run.complete("a")
    assert run.open()[0].config == {"v": 3}
    assert run.state.begun == []


def test_ten_thousand_attempts_of_one_node_keep_one_rule() -> None:
    ways_ = [{"from": "a", "to": "b", "foreach": "output"}]
    run = Drive(graph("a", task("b", config={"v": 1}), transitions=ways_)).start().complete("a", list(range(50)))
    patch(run, replace("/nodes/b/config/v", 2))
    (begun,) = patched(run).begun
    assert (begun.rule.config, len(begun.tokens)) == ({"v": 1}, 50)
    assert {task_.config["v"] for task_ in run.open()} == {1}


def test_what_is_cancelled_is_cancelled_where_it_was_sent() -> None:
    run = Drive(graph("a")).start()
    patch(run, replace("/nodes/a/queue", "other"))
    events = decide(run.program, run.state, c.Cancel(), run.now)
    told = [effect for effect in effects(run.program, run.state, events) if isinstance(effect, f.CancelTask)]
    assert [effect.queue for effect in told] == ["q"]


def test_work_is_undone_by_the_rule_it_was_begun_by() -> None:
    nodes = [task("a", config={"account": 1}, compensator={"action": "refund"}), task("b")]
    run = Drive(graph(*nodes, transitions=ways("ab"))).start()
    patch(run, replace("/nodes/a/config/account", 2)).complete("a").fail("b")
    assert [(t.purpose, t.config) for t in run.open()] == [("undo", {"account": 1, "action": "refund"})]


def test_a_result_is_remembered_under_the_config_that_made_it() -> None:
    """Only the run at hand knows that another config is asked for by now."""
    run = Drive(graph(task("a", config={"v": 1}))).start()
    patch(run, add("/nodes/a/memoize", value=True))
    run.complete("a", "old")
    assert [event.memo for event, _ in run.log if isinstance(event, e.NodeCompleted)] == [""]


def test_an_approval_that_was_asked_for_keeps_its_approvers() -> None:
    run = Drive(
        graph({"id": "h", "type": "human", "human": {"approvers": ["boss"]}}, "z", transitions=ways("hz"))
    ).start()
    patch(run, replace("/nodes/h/human/approvers", ["other"]))
    (ask,) = [effect for effect in outstanding(run.program, run.state) if isinstance(effect, f.AskApproval)]
    assert ask.approvers == ("boss",)
    run.send(c.DecideApproval(ask.approval, "approved", "boss"))
    assert [task_.node for task_ in run.open()] == ["z"]


def test_a_child_that_was_started_stays_the_one_it_is() -> None:
    run = Drive(graph({"id": "w", "type": "workflow", "workflow": "sub@1"})).start()
    patch(run, replace("/nodes/w/workflow", "sub@2"))
    (start,) = [effect for effect in outstanding(run.program, run.state) if isinstance(effect, f.StartChild)]
    assert start.version == "1"


def test_a_patch_is_an_event_with_all_that_was_asked() -> None:
    run = Drive(graph("a")).start()
    patch(run, replace("/nodes/a/queue", "other"), id="p", by="ann", note="busy", expected_revision=0)
    event = patched(run)
    assert (event.revision, event.patch, event.by, event.note) == (1, "p", "ann", "busy")
    assert event.operations == (replace("/nodes/a/queue", "other"),)
    assert (run.state.revision, run.state.definition) == (1, event.definition)
    assert run.state.graph == "hash"


# -- the patch document


def test_edges_are_transitions_and_are_named_by_id_or_by_their_ends() -> None:
    run = Drive(graph("a", "b", "z", transitions=[*ways("ab"), {"id": "t", "from": "b", "to": "z"}])).start()
    patch(
        run,
        add("/edges/a->b/when", "output > 1"),
        add("/transitions/t/when", "output > 1"),
        add("/nodes/a/on_no_match", "end"),
    )
    assert run.complete("a", 1).outcome == "completed"


@pytest.mark.parametrize("expected", [1, 7])
def test_expected_revision_guards(expected: int) -> None:
    run = Drive(graph("a")).start()
    with pytest.raises(RevisionConflict) as caught:
        patch(run, replace("/nodes/a/queue", "other"), expected_revision=expected)
    assert caught.value.attributes == {"expected": expected, "revision": 0}
    assert patch(run, replace("/nodes/a/queue", "other"), expected_revision=0).state.revision == 1


def test_the_same_patch_twice_is_one_patch() -> None:
    run = Drive(graph("a")).start()
    for _ in range(2):
        patch(run, add("/nodes/-", task("b")), id="same", expected_revision=0)
    assert (run.state.revision, list(run.program.nodes)) == (1, ["a", "b"])


# -- refused: the result does not validate


def test_refused_if_the_result_does_not_validate_with_every_problem() -> None:
    run = Drive(graph("a")).start()
    error = refused(run, add("/nodes/a/retrys", 3), add("/edges/-", {"from": "a", "to": "nobody"}))
    assert isinstance(error, PatchInvalid)
    problems: Any = error.attributes["problems"]
    assert {problem.code for problem in problems} == {"UNKNOWN_FIELD", "UNKNOWN_NODE"}
    assert error.attributes["count"] == 2


TRAP_9 = [
    pytest.param("UNREACHABLE_NODE", [add("/entry", "a"), add("/nodes/-", task("x"))], id="an unreachable node"),
    pytest.param(
        "CYCLE_WITHOUT_LIMIT",
        [add("/edges/-", {"from": "b", "to": "a"}), add("/entry", "a")],
        id="a cycle without a limit",
    ),
    pytest.param("PATCH_PATH_INVALID", [remove("/nodes/nobody")], id="a path that leads nowhere"),
    pytest.param("PATCH_MALFORMED", [{"op": "shuffle"}], id="no operation"),
]


@pytest.mark.parametrize(("code", "operations"), TRAP_9)
def test_trap_9_a_patch_is_refused_with_the_reason(code: str, operations: list[Json]) -> None:
    run = Drive(graph("a", "b", "z", transitions=ways("ab", "bz"))).start()
    error = refused(run, *operations)
    assert isinstance(error, PatchInvalid)
    problems: Any = error.attributes["problems"]
    assert code in {problem.code for problem in problems}


# -- refused: what the run is doing

HOLDING = [
    pytest.param(task("n"), "running", id="running"),
    pytest.param({"id": "n", "type": "wait", "wait": {"signal": "go"}}, "waiting", id="waiting"),
    pytest.param({"id": "n", "type": "human"}, "deciding", id="deciding"),
    pytest.param({"id": "n", "type": "workflow", "workflow": "sub"}, "child", id="child"),
    pytest.param(task("n", retry={"max_attempts": 2, "delay": 60}), "retrying", id="retrying"),
    pytest.param(task("n", on_exhausted="park"), "parked", id="parked"),
]


@pytest.mark.parametrize(("node", "status"), HOLDING)
def test_trap_9_refused_if_a_removed_node_holds_a_token(node: Json, status: str) -> None:
    run = Drive(graph("a", node, "z", transitions=ways("an", "nz", "az"))).start().complete("a")
    if status in {"retrying", "parked"}:
        run.fail("n", retryable=True)
    assert status in {token.status for token in run.state.tokens.values()}
    removal = [remove("/edges/a->n"), remove("/edges/n->z"), remove("/nodes/n")]
    assert blocked(run, *removal) == ["n"]


def test_refused_if_a_removed_node_holds_a_ready_token() -> None:
    run = Drive(graph("a", "n", transitions=ways("an"))).start()
    task_ = run.open()[0]
    run.send(c.Pause()).answer(task_)
    assert [token.status for token in run.state.tokens.values()] == ["ready"]
    assert blocked(run, remove("/edges/a->n"), remove("/nodes/n")) == ["n"]


def test_refused_if_a_removed_node_holds_a_token_at_its_join() -> None:
    nodes: list[Json] = ["a", "b", "c", task("n", dependencies=["b", "c"], wait_for_all=True)]
    run = Drive(graph(*nodes, transitions=ways("ab", "ac", "bn", "cn"))).start().complete("a").complete("b")
    assert blocked(run, remove("/edges/b->n"), remove("/edges/c->n"), remove("/nodes/n")) == ["n"]


GROUP = graph(
    "a",
    "b",
    "j",
    transitions=[
        {"from": "a", "to": "b", "foreach": "output", "group": "g"},
        {"from": "b", "to": "j", "synchronize": {"group": "g", "merge": "append"}},
    ],
)


def test_refused_if_a_removed_node_is_the_join_target_of_an_open_group() -> None:
    run = Drive(GROUP).start().complete("a", [1, 2])
    assert blocked(run, remove("/edges/b->j"), remove("/nodes/j")) == ["j"]


def test_a_removed_node_that_holds_nothing_is_gone() -> None:
    run = Drive(graph("a", "b", "c", transitions=ways("ab", "bc"))).start()
    patch(
        run, remove("/edges/a->b"), remove("/edges/b->c"), remove("/nodes/b"), add("/edges/-", {"from": "a", "to": "c"})
    )
    run.complete("a", 7)
    assert [(task_.node, task_.input) for task_ in run.open()] == [("c", 7)]


def test_the_node_that_opened_a_group_may_go_while_the_group_is_open() -> None:
    back = {"from": "b", "to": "a", "when": "false", "max_iterations": 2, "priority": 0}
    definition = graph("s", "a", "b", "j", entry="s", transitions=[*ways("sa"), *GROUP["transitions"], back])
    run = Drive(definition).start().complete("s").complete("a", [1, 2])
    patch(
        run,
        remove("/edges/s->a"),
        remove("/edges/a->b"),
        remove("/edges/b->a"),
        remove("/nodes/a"),
        add("/edges/-", {"from": "s", "to": "b", "foreach": "output", "group": "g"}),
    )
    assert run.complete("b", 1).complete("b", 2).complete("j", "joined").output == "joined"


def test_what_is_under_way_cannot_become_another_kind_of_node() -> None:
    run = Drive(graph("a")).start()
    assert blocked(run, replace("/nodes/a/type", "human")) == ["a"]
    assert blocked(run, add("/nodes/a/enabled", value=False)) == ["a"]


def test_refused_on_closed_runs_and_where_the_outcome_is_known() -> None:
    run = Drive(graph("a", "b", transitions=[])).start()
    assert isinstance(refused(Drive(graph("a")), replace("/nodes/a/queue", "x")), IllegalTransition)
    run.fail("a")
    assert (run.status, run.outcome) == ("running", "failed")
    assert isinstance(refused(run, replace("/nodes/a/queue", "x")), IllegalTransition)
    run.complete("b")
    assert run.status == "closed"
    assert isinstance(refused(run, replace("/nodes/a/queue", "x")), IllegalTransition)


def test_allowed_while_paused() -> None:
    run = Drive(graph("a", "b", "c", transitions=ways("ab"), entry=["a", "c"])).start().send(c.Pause())
    patch(run, replace("/edges/a->b/to", "c"), replace("/entry", "a"), remove("/nodes/b"))
    run.send(c.Resume()).complete("a")
    assert [task_.node for task_ in run.open()] == ["c", "c"]


def test_a_program_without_its_source_cannot_be_patched() -> None:
    program, state, now = (
        Program(compile_definition(graph("a"), evaluator=EVALUATOR), EVALUATOR),
        State(),
        Instant(SECOND),
    )
    decide(program, state, c.Start("w", "hash", None, "seed"), now)
    with pytest.raises(DomainError):
        decide(program, state, c.Patch("p", (replace("/nodes/a/queue", "x"),)), now)


# -- allowed with a warning


def test_a_new_node_that_no_open_token_can_reach_any_more_is_a_warning() -> None:
    run = Drive(graph("a", "b", "c", transitions=ways("ab", "bc"))).start().complete("a")
    patch(
        run,
        add("/nodes/-", task("x")),
        add("/edges/-", {"from": "a", "to": "x"}),
        add("/nodes/-", task("y")),
        add("/edges/-", {"from": "c", "to": "y"}),
    )
    assert [(notice.code, notice.path) for notice in patched(run).warnings] == [("NODE_UNREACHED", "/nodes/x")]


def test_what_the_check_newly_warns_of_is_in_the_event() -> None:
    run = Drive(graph("a", {"id": "b", "type": "task"}, transitions=ways("ab"))).start()
    patch(run, add("/nodes/-", {"id": "c", "type": "task"}), add("/edges/-", {"from": "b", "to": "c"}))
    assert [(notice.code, notice.path) for notice in patched(run).warnings] == [("QUEUE_DEFAULT", "/nodes/c")]


# -- open groups keep their join


def test_open_group_instances_keep_the_join_settings_they_were_opened_with() -> None:
    run = Drive(GROUP).start().complete("a", [1, 2])
    patch(
        run,
        replace(
            "/edges/b->j/synchronize",
            {"group": "g", "wait_for": "any", "merge": {"strategy": "append", "source": "output + 100"}},
        ),
    )
    run.complete("b", 1)
    assert run.open("j") == []
    run.complete("b", 2)
    assert run.open("j")[0].input == [1, 2]


def test_an_open_group_keeps_the_expressions_of_its_merge() -> None:
    merge = {"strategy": "keyed_by_branch", "key": "_branch.item", "source": "output * 2"}
    definition = {
        **GROUP,
        "transitions": [
            GROUP["transitions"][0],
            {**GROUP["transitions"][1], "synchronize": {"group": "g", "merge": merge}},
        ],
    }
    run = Drive(definition).start().complete("a", ["x", "y"])
    patch(run, remove("/edges/b->j/synchronize/merge"))
    run.complete("b", 1).complete("b", 2)
    assert run.open("j")[0].input == {"x": 2, "y": 4}


def test_a_group_opened_after_the_patch_has_the_new_settings() -> None:
    run = Drive(GROUP).start()
    patch(run, add("/edges/b->j/synchronize/wait_for", "any"))
    run.complete("a", [1, 2]).complete("b", 1)
    assert run.open("j")[0].input == [1]


# -- revert


def test_a_revert_is_a_patch_back_to_an_earlier_revision() -> None:
    definition = graph("a", "b", transitions=ways("ab"))
    run = Drive(definition).start()
    patch(patch(run, replace("/nodes/b/queue", "one")), replace("/nodes/b/queue", "two"))
    run.send(c.Revert("r", 1, "ann", expected_revision=2))
    event = patched(run)
    assert (event.revision, event.reverts, event.by) == (3, 1, "ann")
    assert event.operations == (replace("/nodes/b/queue", "one"),)
    run.send(c.Revert("s", 0)).complete("a")
    assert [task_.queue for task_ in run.open()] == ["q"]
    assert run.state.definition == source(Drive(definition)).hash


def test_what_was_reverted_can_be_done_again() -> None:
    run = Drive(graph("a", "b", transitions=ways("ab"))).start()
    first = patched(patch(run, replace("/nodes/b/queue", "one"))).definition
    run.send(c.Revert("undo", 0)).send(c.Revert("redo", 1))
    assert (run.state.revision, run.state.definition) == (3, first)


def test_a_revert_is_checked_like_a_patch() -> None:
    run = Drive(graph("a")).start()
    patch(run, add("/nodes/-", task("b")), add("/edges/-", {"from": "a", "to": "b"})).complete("a")
    with pytest.raises(PatchConflict):
        run.send(c.Revert("r", 0))
    with pytest.raises(RevisionConflict):
        run.send(c.Revert("r", 0, expected_revision=0))
    for revision in (-1, 1, 2):
        with pytest.raises(UnknownTarget):
            run.send(c.Revert("r", revision))


def test_the_same_revert_twice_is_one_revert() -> None:
    run = patch(Drive(graph("a")).start(), replace("/nodes/a/queue", "one"))
    run.send(c.Revert("r", 0)).send(c.Revert("r", 0))
    assert run.state.revision == 2


def test_a_revert_asks_for_the_definition_it_began_with_if_that_is_not_at_hand() -> None:
    run = patch(Drive(graph("a")).start(), replace("/nodes/a/queue", "one"))
    program = run.programs.compile(source(run).definition)
    with pytest.raises(Missing) as caught:
        decide(program, run.state, c.Revert("r", 0), run.now, Facts())
    assert caught.value.need.definitions == {"hash"}


# -- tokens that have not begun, or only wait, go by the new revision


def test_a_wait_that_changed_is_begun_anew() -> None:
    run = Drive(graph({"id": "w", "type": "wait", "wait": {"signal": "pay", "timeout": "1h"}})).start()
    run.send(c.SendSignal("1", "paid", 5))
    patch(run, replace("/nodes/w/wait", {"signal": "paid"}))
    assert (run.outcome, run.output) == ("completed", 5)


def test_a_wait_that_did_not_change_goes_on() -> None:
    run = Drive(graph({"id": "w", "type": "wait", "wait": "30s"}, "b", transitions=ways("wb"))).start().advance(20)
    patch(run, replace("/nodes/b/queue", "other")).advance(10)
    assert [task_.queue for task_ in run.open()] == ["other"]


def test_a_wait_may_be_skipped() -> None:
    run = Drive(graph({"id": "w", "type": "wait", "wait": "30d"}, "b", transitions=ways("wb")), 7).start()
    patch(run, replace("/nodes/w", {"id": "w", "type": "pass"}))
    assert ([task_.input for task_ in run.open()], run.state.timers) == ([7], {})


@pytest.mark.parametrize(
    "more", [{"retry": {"max_attempts": 2, "delay": 60}}, {"on_exhausted": "park"}], ids=["retrying", "parked"]
)
def test_a_node_that_failed_may_be_skipped(more: Json) -> None:
    run = Drive(graph(task("a", **more), "b", transitions=ways("ab")), 7).start().fail("a", retryable=True)
    patch(run, add("/nodes/a/enabled", value=False))
    assert [(task_.node, task_.input) for task_ in run.open()] == [("b", 7)]


def test_tokens_held_back_go_on_when_their_node_takes_more() -> None:
    nodes: list[Json] = ["a", task("b", parallelism=1)]
    run = (
        Drive(graph(*nodes, transitions=[{"from": "a", "to": "b", "foreach": "output"}]))
        .start()
        .complete("a", [1, 2, 3])
    )
    assert len(run.open("b")) == 1
    assert len(patch(run, replace("/nodes/b/parallelism", 2)).open("b")) == 2
    assert len(patch(run, remove("/nodes/b/parallelism")).open("b")) == 3


NAMED = graph(
    "a", "b", "c", task("n", dependencies=["b", "c"], wait_for_all=True), transitions=ways("ab", "ac", "bn", "cn")
)


def test_a_named_join_that_waits_for_less_is_met_at_once() -> None:
    run = Drive(NAMED).start().complete("a").complete("b", 1)
    patch(run, remove("/edges/c->n"), replace("/nodes/n/dependencies", ["b"]))
    assert [(task_.node, task_.input) for task_ in run.open()] == [("c", None), ("n", {"b": 1})]


def test_a_named_join_that_waits_for_more_waits_on() -> None:
    run = Drive(NAMED).start().complete("a").complete("b", 1)
    patch(
        run,
        add("/nodes/-", task("d")),
        add("/edges/-", {"from": "c", "to": "d"}),
        add("/edges/-", {"from": "d", "to": "n"}),
        add("/nodes/n/dependencies/-", "d"),
    )
    run.complete("c", 2)
    assert run.open("n") == []
    assert run.complete("d", 3).open("n")[0].input == {"b": 1, "c": 2, "d": 3}


def test_a_named_join_that_is_none_any_more_runs_once_per_arrival() -> None:
    run = Drive(NAMED).start().complete("a").complete("b", 1)
    patch(run, replace("/nodes/n/wait_for_all", value=False))
    assert [(task_.node, task_.input) for task_ in run.open()] == [("c", None), ("n", 1)]


def test_a_named_join_keeps_whom_it_has_heard_from() -> None:
    run = Drive(NAMED).start().complete("a").complete("b", 1)
    assert blocked(
        run, remove("/edges/b->n"), replace("/nodes/n/dependencies", ["c"]), remove("/edges/a->b"), remove("/nodes/b")
    ) == ["n"]


def test_a_loop_laid_around_a_named_join_does_not_split_its_arrivals() -> None:
    run = Drive({**NAMED, "entry": "a"}).start().complete("a").complete("b", 1)
    patch(
        run,
        add("/edges/-", {"from": "n", "to": "a", "max_iterations": 2, "when": "false"}),
        add("/nodes/n/on_no_match", "end"),
    )
    assert run.complete("c", 2).open("n")[0].input == {"b": 1, "c": 2}


def test_a_token_that_asked_user_code_for_its_way_asks_again_if_the_ways_changed() -> None:
    sandboxed = {"type": "python_sandbox", "code": "def evaluate(output, context):\n    return True"}
    run = Drive(graph("a", "b", "c", transitions=[{"from": "a", "to": "b", "when": sandboxed}, *ways("ac")])).start()
    run.complete("a", 7)
    (asked,) = run.open()
    assert asked.purpose == "route"
    patch(run, remove("/edges/a->b/when"))
    assert [(task_.node, task_.input) for task_ in run.open()] == [("b", 7), ("c", 7)]
    run.answer(asked, {})
    assert [task_.node for task_ in run.open()] == ["b", "c"]


@pytest.mark.parametrize(
    ("before", "operation", "due"),
    [
        ({"deadline": "1h"}, replace("/deadline", "2h"), 7200),
        ({"deadline": "1h"}, remove("/deadline"), None),
        ({}, add("/deadline", "1h"), 600 + 3600),
    ],
    ids=["moved: from the start", "removed", "new: from now"],
)
def test_a_deadline_can_be_moved(before: Json, operation: Json, due: int | None) -> None:
    run = Drive(graph("a", **before)).start().advance(600)
    patch(run, operation)
    timer = run.state.timers.get("run.run_deadline")
    assert (timer.due // SECOND - 1 if timer else None) == due


def test_a_version_takes_a_thousand_patches() -> None:
    run = Drive(graph("a")).start()
    patch(run, replace("/nodes/a/queue", "x"))
    run.state.patches += [[]] * 999
    with pytest.raises(PatchInvalid):
        patch(run, replace("/nodes/a/queue", "y"))


# -- any patch, at any time

SHAPE = graph(
    "a",
    task("b", retry={"max_attempts": 3, "delay": 1}),
    "c",
    task("n", dependencies=["b", "c"], wait_for_all=True),
    task("f", parallelism=2),
    "j",
    {"id": "w", "type": "wait", "wait": {"signal": "go", "timeout": "1m", "on_timeout": "continue"}},
    entry="a",
    transitions=[
        *ways("ab", "ac", "bn", "cn"),
        {"from": "n", "to": "f", "foreach": {"in": "[1, 2, 3]", "max_parallel": 2}, "group": "g"},
        {"from": "f", "to": "j", "synchronize": {"group": "g"}},
        *ways("jw"),
    ],
)
PATCHES: list[list[Json]] = [
    [replace("/nodes/b/queue", "other"), add("/nodes/b/config", {"v": 2})],
    [remove("/edges/c->n"), remove("/edges/a->c"), remove("/nodes/c"), replace("/nodes/n/dependencies", ["b"])],
    [replace("/nodes/n/wait_for_all", value=False)],
    [replace("/nodes/f/parallelism", 1)],
    [remove("/nodes/f/parallelism")],
    [replace("/edges/f->j/synchronize", {"group": "g", "wait_for": "any"})],
    [add("/nodes/-", task("x")), add("/edges/-", {"from": "j", "to": "x"})],
    [add("/nodes/-", task("y")), add("/edges/-", {"from": "b", "to": "y"})],
    [replace("/nodes/w/wait", {"duration": "10s"})],
    [add("/nodes/b/enabled", value=False)],
    [add("/nodes/w/enabled", value=False)],
    [add("/edges/-", {"from": "n", "to": "a", "when": "loop.iteration < 2", "max_iterations": 2, "priority": 0})],
    [remove("/edges/f->j"), remove("/edges/j->w"), remove("/nodes/j"), add("/edges/-", {"from": "f", "to": "w"})],
    [remove("/edges/n->f"), remove("/edges/f->j"), remove("/nodes/f"), add("/edges/-", {"from": "n", "to": "j"})],
]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_whatever_is_patched_whenever_the_run_comes_to_its_end(data: st.DataObject) -> None:
    run = Drive(SHAPE).start()
    for step in range(data.draw(st.integers(0, 25))):
        tasks = run.open()
        what = data.draw(st.sampled_from(["work", "work", "fail", "patch", "revert", "time"]))
        try:
            if what == "patch":
                patch(run, *data.draw(st.sampled_from(PATCHES)), id=f"p{step}")
            elif what == "revert":
                run.send(c.Revert(f"r{step}", data.draw(st.integers(0, 4))))
            elif what == "time":
                run.advance(5)
            elif tasks:
                chosen = data.draw(st.sampled_from(tasks))
                if what == "work" or chosen.node != "b":
                    run.answer(chosen, step)
                else:
                    fault = e.Fault("BOOM", "it broke", retryable=True)
                    run.send(c.TaskResult(chosen.token, chosen.attempt, chosen.nonce, "failed", fault=fault))
        except DomainError:
            assert run.rebuilt() == run.state
    for _ in range(60):
        run.work(lambda _: 1).advance(10)
    assert run.status == "closed"
    assert run.state.begun == []


# -- proposals


def proposed(**more: Json) -> Drive:
    run = Drive(graph("a", "b", transitions=ways("ab")), **more).start()
    return run.send(c.ProposePatch("p", (replace("/nodes/b/queue", "other"),), "ana", note="slow"))


def test_a_proposed_patch_changes_nothing_until_it_is_approved() -> None:
    run = proposed()
    assert (run.state.revision, list(run.state.proposals)) == (0, ["p"])
    run.send(c.DecidePatch("p", "approved", "ben"))
    assert (patched(run).patch, patched(run).by, run.state.proposals) == ("p", "ana", {})
    assert run.complete("a").open("b")[0].queue == "other"


def test_a_rejected_patch_is_gone_and_the_first_decision_counts() -> None:
    run = proposed().send(c.DecidePatch("p", "rejected", "ben", "no"))
    assert (run.state.revision, run.state.proposals) == (0, {})
    with pytest.raises(IllegalTransition):
        run.send(c.DecidePatch("p", "approved", "ben"))
    with pytest.raises(UnknownTarget):
        run.send(c.DecidePatch("other", "approved", "ben"))


def test_a_proposal_that_could_not_be_applied_is_refused_now_and_again_then() -> None:
    run = Drive(graph("a", "b", transitions=ways("ab"))).start()
    with pytest.raises(PatchInvalid):
        run.send(c.ProposePatch("bad", (remove("/nodes/zzz"),)))
    run.send(c.ProposePatch("p", (remove("/nodes/b"), remove("/transitions/a->b"))))
    run.complete("a")
    with pytest.raises(PatchConflict):
        run.send(c.DecidePatch("p", "approved", "ben"))
    assert list(run.state.proposals) == ["p"]


def test_the_same_proposal_twice_is_one() -> None:
    run = proposed()
    run.send(c.ProposePatch("p", (remove("/nodes/b"),)))
    assert run.kinds().count("patch.proposed") == 1
