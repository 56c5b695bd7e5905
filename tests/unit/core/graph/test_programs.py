"""Programs by definition, and the graph decider as the loop sees it."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.definition import DefinitionInvalid, NodeType
from penstock.core.graph.decider import GraphDecider
from penstock.core.graph.errors import UnknownTarget
from penstock.core.graph.programs import DefinitionMissing, Programs, RevisionMismatch
from penstock.core.graph.state import State
from penstock.core.model import commands as c
from penstock.core.model import effects as f
from penstock.core.model.decider import Decider, Facts, Missing, Need
from penstock.core.model.time import SECOND, Instant
from tests.unit.core.graph.drive import EVALUATOR, graph

Json = Any
NOW = Instant(SECOND)
PATCH = c.Patch("p", ({"op": "replace", "path": "/nodes/a/queue", "value": "other"},))


def hash_of(definition: Json) -> str:
    source = Programs(EVALUATOR).compile(definition).source
    assert source is not None
    return source.hash


DEFINITION = graph("a")
HASH = hash_of(DEFINITION)
START = c.Start("w", HASH, None, "seed", "r")


def started(decider: GraphDecider) -> State:
    state = decider.initial()
    events = decider.decide(state, START, NOW, Facts({HASH: DEFINITION}))
    assert isinstance(events, list)
    return state


def test_the_graph_decider_is_a_decider() -> None:
    decider: Decider[State] = GraphDecider(Programs(EVALUATOR))
    assert decider.initial() == State()


def test_a_definition_that_is_not_at_hand_is_asked_for() -> None:
    decider = GraphDecider(Programs(EVALUATOR))
    state = decider.initial()
    assert decider.decide(state, START, NOW) == Need(definitions=frozenset({HASH}))
    events = decider.decide(state, START, NOW, Facts({HASH: DEFINITION}))
    assert isinstance(events, list)
    assert [type(effect) for effect in decider.effects(state, events)] == [f.DispatchTask]
    assert decider.decide(decider.initial(), START, NOW) == events, "once seen, it is known"


def test_the_fold_of_what_it_decides_is_its_state() -> None:
    decider = GraphDecider(Programs(EVALUATOR))
    state, rebuilt = decider.initial(), decider.initial()
    events = decider.decide(state, START, NOW, Facts({HASH: DEFINITION}))
    assert isinstance(events, list)
    for event in events:
        decider.evolve(rebuilt, event, NOW)
    assert rebuilt == state


def test_a_command_to_a_run_that_does_not_exist_is_refused() -> None:
    decider = GraphDecider(Programs(EVALUATOR))
    with pytest.raises(UnknownTarget):
        decider.decide(decider.initial(), c.Pause(), NOW)


def test_a_coordinator_that_takes_a_run_over_asks_for_its_definition() -> None:
    state = started(GraphDecider(Programs(EVALUATOR)))
    other = GraphDecider(Programs(EVALUATOR))
    with pytest.raises(Missing) as caught:
        other.outstanding(state)
    assert caught.value.need == Need(definitions=frozenset({HASH}))
    assert [type(effect) for effect in other.outstanding(state, Facts({HASH: DEFINITION}))] == [f.DispatchTask]


def test_a_patched_run_is_made_again_of_its_definition_and_its_patches() -> None:
    decider = GraphDecider(Programs(EVALUATOR))
    state = started(decider)
    assert isinstance(decider.decide(state, PATCH, NOW), list)
    other = GraphDecider(Programs(EVALUATOR))
    assert other.decide(state, c.Pause(), NOW) == Need(definitions=frozenset({HASH}))
    program = Programs(EVALUATOR).find(state, {HASH: DEFINITION})
    assert program.nodes["a"].rule.queue == "other"


def test_patches_that_lead_elsewhere_than_they_did_are_noticed() -> None:
    decider = GraphDecider(Programs(EVALUATOR))
    state = started(decider)
    decider.decide(state, PATCH, NOW)
    state.patches[0][0] = {**state.patches[0][0], "value": "third"}
    with pytest.raises(RevisionMismatch) as caught:
        Programs(EVALUATOR).find(state, {HASH: DEFINITION})
    assert caught.value.attributes["expected"] == state.definition


def test_a_definition_that_nobody_has_is_an_error() -> None:
    decider = GraphDecider(Programs(EVALUATOR))
    with pytest.raises(DefinitionMissing):
        decider.decide(decider.initial(), START, NOW, Facts({HASH: None}))
    with pytest.raises(DefinitionInvalid):
        decider.decide(decider.initial(), START, NOW, Facts({HASH: {"nodes": []}}))


def test_runs_at_the_same_revision_share_a_program() -> None:
    programs = Programs(EVALUATOR)
    decider = GraphDecider(programs)
    first, second = started(decider), started(decider)
    for state in (first, second):
        decider.decide(state, PATCH, NOW)
    assert programs.find(first, {}) is programs.find(second, {})


def test_what_was_not_used_for_the_longest_time_is_dropped_first() -> None:
    programs = Programs(EVALUATOR, capacity=3)
    definitions = {name: graph(name) for name in "abcd"}
    for name in "abc":
        programs.pinned(hash_of(definitions[name]), {hash_of(definitions[name]): definitions[name]})
    programs.pinned(hash_of(definitions["a"]), {})
    programs.compile(definitions["d"])
    kept = [name for name in "abcd" if programs.known(hash_of(definitions[name])) is not None]
    assert kept == ["a", "c", "d"]


def test_the_last_one_is_kept_however_large_it_is() -> None:
    programs = Programs(EVALUATOR, capacity=1)
    large = graph("a", "b", "c", transitions=[])
    programs.compile(large)
    assert programs.known(hash_of(large)) == large


def test_programs_are_compiled_with_the_node_types_they_are_given() -> None:
    programs = Programs(EVALUATOR, {"charge": NodeType(queue="payments")})
    assert programs.compile({"nodes": {"a": {"type": "charge"}}}).nodes["a"].rule.queue == "payments"
