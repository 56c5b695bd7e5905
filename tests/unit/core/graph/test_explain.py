"""What a run waits for, token by token, in data and in words."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest

from penstock.core.graph import waits
from penstock.core.graph.explain import _WAITS, Branch, Explanation, OpenToken, explain
from penstock.core.graph.state import State, Status, Token, TokenStatus
from penstock.core.model import commands as c
from penstock.core.model.events import Outcome
from penstock.core.model.time import SECOND, Instant
from tests.unit.core.graph.drive import Drive, graph

Json = Any

WAIT = {"id": "w", "type": "wait"}
SIGNAL = WAIT | {"wait": {"signal": "paid"}}


def node(name: str, **more: Json) -> dict[str, Json]:
    return {"id": name, "type": "task", "queue": "q", **more}


def why(run: Drive) -> Explanation:
    found = explain(run.program, run.state, run.now)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Explanation) == found
    sentences = [found.sentence, *(token.sentence for token in found.tokens), *(g.sentence for g in found.groups)]
    assert [said for said in sentences if not said.endswith(".") or ".." in said or "None" in said] == []
    return found


def only(run: Drive) -> OpenToken:
    (token,) = why(run).tokens
    return token


def turns(run: Drive) -> list[Json]:
    return [token.waits for token in why(run).tokens if isinstance(token.waits, waits.ForTurn)]


def second(number: float) -> Instant:
    """Runs begin at second 1."""
    return Instant(round((1 + number) * SECOND))


# -- it is total


@pytest.mark.parametrize("status", get_args(TokenStatus))
def test_every_status_of_a_token_has_a_sentence(status: TokenStatus) -> None:
    """A new status without an entry in the table fails here."""
    run = Drive(graph("a")).start()
    run.state.tokens[1] = Token(1, "a", 0, 1, None, status=status, instance="a@0[]")
    run.state.joins["a@0[]"] = {}
    assert only(run).status == status


def test_the_table_knows_no_status_that_does_not_exist() -> None:
    assert set(_WAITS) == set(get_args(TokenStatus))


def test_every_kind_of_wait_is_told_apart() -> None:
    kinds = [kind.__struct_config__.tag for kind in get_args(waits.AnyWait)]
    assert len(set(kinds)) == len(kinds) == len(waits.Wait.__subclasses__())


@pytest.mark.parametrize("outcome", [None, *get_args(Outcome)])
def test_a_run_has_a_sentence_in_every_state(outcome: Outcome | None) -> None:
    waiting = Drive(graph("a", SIGNAL, transitions=[{"from": "a", "to": "w"}])).start()
    running = waiting.state
    states = [State(), running, msgspec.structs.replace(running, paused=True)]
    states += [msgspec.structs.replace(running, phase=phase) for phase in ("compensating", "closed")]
    states.append(Drive(graph(SIGNAL)).start().state)
    found = [explain(waiting.program, msgspec.structs.replace(state, outcome=outcome), Instant(0)) for state in states]
    assert {each.status for each in found} == set(get_args(Status))
    assert {each.outcome for each in found} == {outcome}
    assert all(each.sentence for each in found)


# -- tokens


def test_a_task_waits_for_a_worker_of_its_queue() -> None:
    run = Drive(graph(node("a", retry={"max_attempts": 3}, timeout="10s", queue_timeout="0s"))).start().advance(4)
    found = only(run)
    assert (found.token, found.node, found.status, found.since) == (1, "a", "running", second(0))
    assert found.waits == waits.ForWorker("q", 1, 3, second(15))
    assert found.sentence == (
        "Token 1 on `a` waits for a worker of queue `q`, attempt 1 of 3, given up in 11 s, for 4 s so far."
    )


def test_a_retry_says_when_and_after_what() -> None:
    run = Drive(graph(node("a", retry={"max_attempts": 3, "delay": "30s"}))).start().fail("a", retryable=True)
    found = only(run)
    assert isinstance(found.waits, waits.ForRetry)
    assert (found.waits.attempt, found.waits.attempts, found.waits.due) == (2, 3, second(30))
    assert found.waits.fault is not None
    assert found.waits.fault.code == "BOOM"


def test_a_named_join_names_who_is_missing() -> None:
    names = ["b", "c", "d"]
    ways = [{"from": "a", "to": name} for name in names] + [{"from": name, "to": "z"} for name in names]
    run = Drive(graph("a", *names, node("z", dependencies=names, wait_for_all=True), transitions=ways))
    run.start().complete("a").advance(2).complete("c")
    (found,) = [token for token in why(run).tokens if token.node == "z"]
    assert found.waits == waits.ForPredecessors(("c",), ("b", "d"))
    assert found.since == second(2)
    assert found.sentence == "Token 5 on `z` has come from `c` and waits for `b`, `d`."


def test_a_timer_says_when_it_goes_on() -> None:
    run = Drive(graph(WAIT | {"wait": {"duration": "2h"}})).start().advance(60)
    assert only(run).waits == waits.ForTime(second(7200))


@pytest.mark.parametrize(("more", "due"), [({}, None), ({"timeout": "1m"}, second(60))], ids=["for ever", "in time"])
def test_a_signal_is_named(more: Json, due: Instant | None) -> None:
    run = Drive(graph(WAIT | {"wait": {"signal": "paid", **more}})).start()
    assert only(run).waits == waits.ForSignal("paid", due)


def test_an_approval_says_who_decides_and_until_when() -> None:
    human = {"id": "h", "type": "human", "human_config": {"approvers": ["ann", "bob"], "timeout_hours": 1}}
    run = Drive(graph(human)).start()
    (approval,) = run.state.approvals
    assert only(run).waits == waits.ForDecision(approval, ("ann", "bob"), second(3600))


def test_a_child_is_named() -> None:
    run = Drive(graph({"id": "c", "type": "workflow", "workflow": "sub"})).start()
    (child,) = run.state.children
    assert only(run).waits == waits.ForChild(child, "sub")


def test_a_parked_token_says_what_broke_it() -> None:
    run = Drive(graph(node("a", on_exhausted="park"))).start().fail("a")
    found = only(run).waits
    assert isinstance(found, waits.ForRescue)
    assert found.fault is not None
    assert (found.fault.code, found.fault.node) == ("BOOM", "a")


def test_a_full_node_holds_others_in_order() -> None:
    ways = [{"from": "a", "to": "b", "foreach": "output", "group": "g"}, {"from": "b", "to": "c"}]
    run = Drive(graph("a", node("b", parallelism=2), "c", transitions=ways)).start().complete("a", [1, 2, 3, 4])
    assert turns(run) == [waits.ForTurn("b", 2, 1), waits.ForTurn("b", 2, 2)]
    assert turns(run.complete("b")) == [waits.ForTurn("b", 2, 1)]
    assert turns(run.complete("b")) == []


def test_a_full_group_holds_its_later_branches_in_order() -> None:
    ways = [{"from": "a", "to": "b", "foreach": {"in": "output", "max_parallel": 1}, "group": "g"}]
    run = Drive(graph("a", "b", transitions=ways)).start().complete("a", [1, 2, 3])
    assert turns(run) == [waits.ForTurn("g", 1, 1), waits.ForTurn("g", 1, 2)]
    assert turns(run.complete("b")) == [waits.ForTurn("g", 1, 1)]
    assert turns(run.complete("b")) == []


def test_what_is_ready_in_a_paused_run_waits_for_resume() -> None:
    run = Drive(graph("a", "b", transitions=[{"from": "a", "to": "b"}])).start()
    task = run.open()[0]
    run.send(c.Pause()).answer(task)
    assert (only(run).node, only(run).waits) == ("b", waits.ForResume())


def test_conditions_that_run_user_code_are_counted() -> None:
    code = "def evaluate(output, context):\n    return True"
    ways = [{"from": "a", "to": "b", "when": {"type": "python_sandbox", "code": code}}]
    run = Drive(graph("a", "b", transitions=ways)).start().complete("a")
    assert (only(run).status, only(run).waits) == ("routing", waits.ForConditions(1))


def test_others_are_asked_when_nobody_decided_in_time() -> None:
    asks = {"approvers": ["ann"], "timeout": "1h", "on_timeout": "escalate", "escalate_to": ["bob"]}
    run = Drive(graph({"id": "h", "type": "human", "human": asks})).start().advance(3600)
    found = only(run).waits
    assert isinstance(found, waits.ForDecision)
    assert (found.approvers, found.due) == (("bob",), second(7200))


def test_a_token_says_where_it_is() -> None:
    ways = [
        {"from": "a", "to": "b", "foreach": "output", "group": "outer"},
        {"from": "b", "to": "c", "foreach": "output", "group": "inner"},
    ]
    run = Drive(graph("a", "b", "c", transitions=ways)).start().complete("a", [1, 2]).complete("b", [3, 4], index=1)
    found = why(run)
    assert [token.branch for token in found.tokens] == [
        (Branch("outer", 0),),
        (Branch("outer", 1), Branch("inner", 0)),
        (Branch("outer", 1), Branch("inner", 1)),
    ]
    assert found.tokens[2].sentence == (
        "Token 5 on `c`, branch 1 of `inner`, branch 1 of `outer`, waits for a worker of queue `q`, attempt 1 of 1."
    )


# -- groups


def fan(size: int, **join: Json) -> Drive:
    ways = [
        {"from": "a", "to": "b", "foreach": "output", "group": "g"},
        {"from": "b", "to": "z", "synchronize": {"group": "g", **join}},
    ]
    return Drive(graph("a", "b", "z", transitions=ways)).start().complete("a", list(range(size)))


def test_a_group_join_says_which_branches_are_open() -> None:
    run = fan(4, timeout="10s").complete("b", index=1).complete("b", index=1)
    (group,) = why(run).groups
    assert (group.name, group.target, group.total, group.needed, group.arrived) == ("g", "z", 4, 4, 2)
    assert (group.open, group.branches, group.due) == (2, (0, 3), second(10))
    assert group.sentence == (
        "The join of group `g` at `z` needs 4, has 2, and waits for 2 of 4 branches (0, 3) for another 10 s at most."
    )


def test_of_many_branches_the_first_are_listed() -> None:
    (group,) = why(fan(100)).groups
    assert (group.open, group.branches) == (100, tuple(range(10)))


def test_a_group_that_moved_on_says_so() -> None:
    run = fan(3, wait_for="any", on_early_complete="abandon").complete("b")
    found = why(run)
    assert [(group.settled, group.open) for group in found.groups] == [(True, 2)]
    assert [token.abandoned for token in found.tokens] == [True, True, False]


def test_a_group_without_a_join_waits_for_its_ends() -> None:
    ways = [{"from": "a", "to": "b", "foreach": "output", "group": "g"}]
    run = Drive(graph("a", "b", transitions=ways)).start().complete("a", [1, 2])
    (group,) = why(run).groups
    assert (group.needed, group.target, group.open) == (0, "", 2)


# -- the run


def test_a_deadline_is_told() -> None:
    found = why(Drive(graph("a", limits={"deadline_s": 90})).start().advance(30))
    assert found.deadline == second(90)
    assert found.sentence == "The run is running; 1 token is open; it times out in 1 min."


def test_what_was_under_way_at_the_outcome_has_a_grace() -> None:
    found = why(Drive(graph("a", "b", transitions=[])).start().fail("a").advance(5))
    assert (found.outcome, found.grace) == ("failed", second(30))
    assert found.fault is not None
    assert found.fault.code == "BOOM"


def test_undoing_is_counted() -> None:
    done = [node(name, compensate={"action": f"un{name}"}) for name in "ab"]
    ways = [{"from": "a", "to": "b"}, {"from": "b", "to": "c"}]
    run = Drive(graph(*done, "c", transitions=ways)).start().complete("a").complete("b").fail("c")
    found = why(run).undoing
    assert found is not None
    assert (found.node, found.position, found.total, found.attempt) == ("b", 1, 2, 1)
    run.complete("b")
    found = why(run).undoing
    assert found is not None
    assert (found.node, found.position, found.total) == ("a", 2, 2)
    run.complete("a")
    assert why(run).undoing is None


def test_a_closed_run_waits_for_nothing() -> None:
    found = why(Drive(graph("a")).start().complete("a"))
    assert (found.tokens, found.groups, found.sentence) == ((), (), "The run is closed, completed.")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 ms"),
        (0.25, "250 ms"),
        (59, "59 s"),
        (60, "1 min"),
        (3_723, "1 h 2 min"),
        (86_400 * 3 + 5, "3 d"),
        (86_400 + 7_200, "1 d 2 h"),
    ],
)
def test_spans_are_told_in_two_units(seconds: float, text: str) -> None:
    assert waits.span(round(seconds * SECOND)) == text
