"""The counter: graph-rules, "Counter (002)".

`Drive` checks after every command that the operations of all commits so far, each key once, give the state's counter.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.graph.counter import Counter, Operation, operations, standing
from penstock.core.graph.state import State
from penstock.core.model import commands as c
from penstock.core.model import events as e
from penstock.core.model.time import Instant
from tests.unit.core.graph.drive import Drive, graph

Json = Any

DIAMOND = [{"from": "a", "to": "b"}, {"from": "a", "to": "c"}, {"from": "b", "to": "d"}, {"from": "c", "to": "d"}]


def node(name: str, **more: Json) -> dict[str, Json]:
    return {"id": name, "type": "task", "queue": "q", **more}


def values(run: Drive, *completed: str) -> list[int]:
    """The counter after the start, and after each of these completions."""
    return [run.start().state.counter, *(run.complete(name).state.counter for name in completed)]


def audit(run: Drive) -> list[Operation]:
    """Every operation of the run so far, in order."""
    state = State()
    return [operation for event, at in run.log for operation in operations(state, [event], at)]


# -- values after each commit


def test_a_sequence_counts_1_1_1_0() -> None:
    run = Drive(graph("a", "b", "c", transitions=[{"from": "a", "to": "b"}, {"from": "b", "to": "c"}]))
    assert values(run, "a", "b", "c") == [1, 1, 1, 0]


def test_a_named_join_counts_1_2_2_1_0() -> None:
    run = Drive(graph("a", "b", "c", node("d", dependencies=["b", "c"], wait_for_all=True), transitions=DIAMOND))
    assert values(run, "a", "b", "c", "d") == [1, 2, 2, 1, 0]


def test_a_group_join_counts_1_2_2_1_0() -> None:
    """Waiting at a join does not consume; a fired join consumes its arrivals and emits one."""
    ways: list[Json] = [way | {"group": "g"} for way in DIAMOND[:2]]
    ways += [way | {"synchronize": {"group": "g"}} for way in DIAMOND[2:]]
    assert values(Drive(graph("a", "b", "c", "d", transitions=ways)), "a", "b", "c", "d") == [1, 2, 2, 1, 0]


def test_a_lost_race_is_consumed_with_its_join() -> None:
    ways: list[Json] = [way | {"group": "g"} for way in DIAMOND[:2]]
    ways += [way | {"synchronize": {"group": "g", "wait_for": "any"}} for way in DIAMOND[2:]]
    assert values(Drive(graph("a", "b", "c", "d", transitions=ways)), "a", "b", "d") == [1, 2, 1, 0]


def test_two_entries_start_at_2() -> None:
    assert values(Drive(graph("a", "b", transitions=[])), "a", "b") == [2, 1, 0]


HUMAN = {"id": "h", "type": "human", "human_config": {"approvers": ["boss"], "timeout_hours": 1}}


def approval(*after: str) -> Drive:
    ways = [{"from": "a", "to": "h"}, *({"from": "h", "to": name} for name in after)]
    return Drive(graph("a", HUMAN, *after, transitions=ways))


def test_an_approval_counts_1_then_0_with_one_pending_then_1_then_0() -> None:
    run = approval("b")
    assert values(run, "a") == [1, 0]
    assert (len(run.state.approvals), run.outcome) == (1, None)
    (pending,) = run.state.approvals
    assert run.send(c.DecideApproval(pending, "approved", "boss")).state.counter == 1
    assert run.complete("b").state.counter == 0
    assert run.status == "closed"


def test_a_decision_emits_what_follows_under_the_key_of_the_approval() -> None:
    run = approval("b", "c")
    run.start().complete("a")
    (pending,) = run.state.approvals
    run.send(c.DecideApproval(pending, "approved", "boss"))
    assert Operation(f"emit:approval_{pending}", 2) in list_of_commits(run)[-1]
    assert run.state.counter == 2


@pytest.mark.parametrize("how", ["rejected", "timeout", "cancelled"])
def test_an_approval_that_leads_nowhere_is_not_consumed_again(how: str) -> None:
    run = approval("b")
    run.start().complete("a")
    (pending,) = run.state.approvals
    if how == "rejected":
        run.send(c.DecideApproval(pending, "rejected", "boss"))
    elif how == "timeout":
        run.advance(3601)
    else:
        run.send(c.Cancel())
    assert (run.state.counter, run.status) == (0, "closed")


def test_arrivals_at_a_join_that_never_fires_are_consumed_with_their_group() -> None:
    ways: list[Json] = [way | {"group": "g"} for way in DIAMOND[:2]]
    ways += [way | {"synchronize": {"group": "g"}} for way in DIAMOND[2:]]
    run = Drive(graph("a", "b", "c", "d", transitions=ways)).start().complete("a").complete("b").send(c.Cancel())
    assert run.fail("c").state.counter == 0
    assert run.status == "closed"
    assert Operation("consume:group_1", -1) in audit(run)


# -- keys


def list_of_commits(run: Drive) -> list[list[Operation]]:
    """The operations of each commit; a commit is told by its moment, so the run has to move time between them."""
    state, moments = State(), dict.fromkeys(at for _, at in run.log)
    return [operations(state, [event for event, when in run.log if when == at], at) for at in moments]


def test_the_keys_of_a_diamond_are_those_of_the_seed() -> None:
    run = Drive(graph("a", "b", "c", node("d", dependencies=["b", "c"], wait_for_all=True), transitions=DIAMOND))
    run.start()
    for name in "abcd":
        run.advance(1).complete(name)
    assert [[f"{key} {delta:+}" for key, delta in commit] for commit in list_of_commits(run)] == [
        ["emit:start +1"],
        ["emit:1 +2", "consume:1 -1"],
        ["emit:2 +1", "consume:2 -1"],
        ["emit:3 +1", "consume:3 -1", "consume:4 -1", "consume:5 -1", "emit:join_6 +1"],
        ["consume:6 -1"],
    ]


def test_opening_ten_thousand_branches_is_one_operation() -> None:
    state = State()
    events = [
        e.RunStarted("w", "hash", None, "engine", "seed"),
        e.TokenCreated(1, "a", 0, 1, "start", payload=None),
        e.GroupOpened(1, "g", 1, 1, 2, 2, (e.Branches("a->b", "b", 9_999), e.Branches("a->c", "c", 1))),
        e.TokenConsumed(1),
    ]
    assert operations(state, events, Instant(0)) == [("emit:start", 1), ("emit:1", 10_000), ("consume:1", -1)]
    assert state.counter == standing(state) == 10_000


OPERATIONS = st.lists(
    st.builds(Operation, st.sampled_from([f"emit:{number}" for number in range(9)]), st.integers(-5, 5)),
    unique_by=lambda operation: operation.key,
)


@given(OPERATIONS, st.randoms(use_true_random=False))
def test_applying_in_any_order_and_any_number_of_times_changes_nothing(once: list[Operation], random: Any) -> None:  # noqa: ANN401 - hypothesis does not export its type
    again = once * 3
    random.shuffle(again)
    first, second = Counter(), Counter()
    assert [first.apply(operation) for operation in once] == [True] * len(once)
    assert sum(second.apply(operation) for operation in again) == len(once)
    assert first == second == msgspec.msgpack.decode(msgspec.msgpack.encode(second), type=Counter)
    assert first.value == sum(delta for _, delta in once)


# -- the seed's step tables, in which a token is consumed when it is picked up, on the bare model

TABLES: dict[str, list[tuple[str, int, int]]] = {
    "A, B, C": [
        ("emit:start", 1, 1),
        ("consume:1", -1, 0),
        ("emit:1", 1, 1),
        ("consume:2", -1, 0),
        ("emit:2", 1, 1),
        ("consume:3", -1, 0),
    ],
    "A, (B, C), D": [
        ("emit:start", 1, 1),
        ("consume:1", -1, 0),
        ("emit:1", 2, 2),
        ("consume:2", -1, 1),
        ("emit:2", 1, 2),
        ("consume:3", -1, 1),
        ("emit:3", 1, 2),
        ("consume:4", -1, 1),
        ("consume:5", -1, 0),
    ],
    "A, (B, C), D, picked up before either emits": [
        ("emit:start", 1, 1),
        ("consume:1", -1, 0),
        ("emit:1", 2, 2),
        ("consume:2", -1, 1),
        ("consume:3", -1, 0),
        ("emit:2", 1, 1),
        ("emit:3", 1, 2),
        ("consume:4", -1, 1),
        ("consume:5", -1, 0),
    ],
    "two entries, a join that consumes both at once, and one more": [
        ("emit:start", 2, 2),
        ("consume:1", -1, 1),
        ("emit:1", 1, 2),
        ("consume:2", -1, 1),
        ("emit:2", 1, 2),
        ("consume:3", -1, 1),
        ("consume:4", -1, 0),
        ("emit:4", 1, 1),
        ("consume:5", -1, 0),
    ],
    "an approval that leads to two": [
        ("emit:start", 1, 1),
        ("consume:1", -1, 0),
        ("emit:approval_456", 2, 2),
    ],
    "an agent among five that chooses two": [
        ("emit:start", 5, 5),
        ("consume:5", -1, 4),
        ("emit:5", 2, 6),
    ],
    "a token delivered twice": [
        ("emit:start", 1, 1),
        ("consume:1", -1, 0),
        ("emit:1", 2, 2),
        ("consume:2", -1, 1),
        ("consume:2", -1, 1),
        ("emit:2", 1, 2),
        ("emit:2", 1, 2),
    ],
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())
def test_the_seeds_tables_step_by_step(table: list[tuple[str, int, int]]) -> None:
    counter = Counter()
    found = []
    for key, delta, _ in table:
        counter.apply(Operation(key, delta))
        found.append(counter.value)
    assert found == [value for _, _, value in table]
