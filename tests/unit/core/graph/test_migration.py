"""Migration: a running run goes on by another version of its workflow."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.graph.decide import decide
from penstock.core.graph.migrate import version_key
from penstock.core.graph.programs import Programs
from penstock.core.model import commands as c
from penstock.core.model import events as e
from penstock.core.model.decider import Facts, Missing
from tests.unit.core.graph.drive import EVALUATOR, Drive, graph

Json = Any

HANDOVER = {
    "id": "m",
    "type": "migration",
    "config": {"from_version": "1.0", "to_version": "2.0", "transform": "cas://sha256:script"},
}


def task(name: str, **more: Json) -> dict[str, Json]:
    return {"id": name, "type": "task", "queue": "q", **more}


def way(source: str, to: str, **more: Json) -> dict[str, Json]:
    return {"from": source, "to": to, **more}


OLD = graph("a", HANDOVER, "old", version="1.0", state={"n": 1}, transitions=[way("a", "m"), way("m", "old")])
NEW = graph("m", "new", version="2.0", transitions=[way("m", "new")])


def drive(old: Json = OLD, new: Json = NEW, given: Json = None) -> Drive:
    """A run of the old version, and where the new one is found."""
    run = Drive(old, given)
    source = Programs(EVALUATOR).compile(new).source
    assert source is not None
    run.definitions |= {"w@2.0": new, source.hash: new}
    return run


def at_handover(old: Json = OLD, new: Json = NEW, given: Json = None) -> Drive:
    return drive(old, new, given).start().complete("a", {"x": 1})


def migrated(run: Drive) -> e.RunMigrated:
    (event,) = [event for event, _ in run.log if isinstance(event, e.RunMigrated)]
    return event


# -- the transform


def test_the_transform_runs_as_a_task_on_input_state_and_nodes() -> None:
    (transform,) = at_handover(given={"order": 7}).open()
    assert (transform.kind, transform.node, transform.config["transform"]) == ("migration", "m", "cas://sha256:script")
    assert transform.input["input"] == {"order": 7}
    assert transform.input["state"] == {"n": 1}
    assert transform.input["nodes"]["a"]["output"] == {"x": 1}


def test_a_mapping_of_the_node_says_what_the_transform_is_given() -> None:
    run = at_handover(
        graph("a", {**HANDOVER, "input": {"n": "state.n"}}, version="1.0", state={"n": 1}, transitions=[way("a", "m")])
    )
    assert run.open()[0].input == {"n": 1}


def test_a_transform_that_fails_is_tried_again_like_any_task() -> None:
    old = graph("a", {**HANDOVER, "retry": {"max_attempts": 2, "delay": 1}}, version="1.0", transitions=[way("a", "m")])
    run = at_handover(old).fail("m", retryable=True).advance(2)
    (again,) = run.open()
    assert (again.attempt, again.input["nodes"]["a"]["output"]) == (2, {"x": 1})


def test_a_run_of_another_version_is_not_migrated() -> None:
    run = drive({**OLD, "version": "1.1"}).start().complete("a")
    assert (run.outcome, run.code, run.open()) == ("failed", "MIGRATION_VERSION", [])


# -- then run.migrated


def test_the_token_goes_on_from_the_node_of_the_same_id() -> None:
    run = at_handover().complete("m", {"state": {"total": 5}, "payload": {"y": 2}})
    assert [(task_.node, task_.input) for task_ in run.open()] == [("new", {"y": 2})]
    event = migrated(run)
    assert (event.version, event.revision, event.state) == ("2.0", 1, {"total": 5})
    assert (run.state.graph, run.state.revision, run.state.scopes[0].data) == (event.definition, 1, {"total": 5})
    assert run.complete("new", "done").output == "done"


def test_the_token_goes_on_from_resume_at_where_the_new_version_has_no_such_node() -> None:
    old = graph("a", {**HANDOVER, "resume_at": "second"}, version="1.0", transitions=[way("a", "m")])
    new = graph("first", "second", version="2.0", transitions=[way("first", "second")])
    run = at_handover(old, new).complete("m", {"payload": 3})
    assert [(task_.node, task_.input) for task_ in run.open()] == [("second", 3)]


def test_what_the_transform_leaves_out_stays_as_it_was() -> None:
    run = at_handover().complete("m", {})
    assert (run.open()[0].input, run.state.scopes[0].data) == ({"x": 1}, {"n": 1})


@pytest.mark.parametrize("output", [None, [1], {"state": 3}, {"stat": {}}])
def test_a_transform_answers_state_and_payload(output: Json) -> None:
    run = at_handover().complete("m", output)
    assert (run.outcome, run.code) == ("failed", "MIGRATION_OUTPUT")


def test_the_state_must_fit_the_schema_of_the_new_version() -> None:
    new = {**NEW, "state_schema": {"type": "object", "required": ["total"]}}
    assert at_handover(OLD, new).complete("m", {"state": {"total": 1}}).outcome is None
    assert at_handover(OLD, new).complete("m", {}).code == "STATE_SCHEMA"


def test_neither_the_same_node_nor_one_to_resume_at_fails_it() -> None:
    assert at_handover(OLD, graph("other", version="2.0")).complete("m", {}).code == "MIGRATION_RESUME"


def test_a_version_that_does_not_exist_or_is_invalid_fails_it() -> None:
    run = at_handover()
    run.definitions["w@2.0"] = None
    assert run.complete("m", {}).code == "MIGRATION_VERSION"
    run = at_handover()
    run.definitions["w@2.0"] = {"nodes": []}
    assert run.complete("m", {}).code == "MIGRATION_VERSION"


def test_what_fails_it_can_be_caught_in_the_old_version() -> None:
    old = {**OLD, "transitions": [*OLD["transitions"], way("m", "old", on="error")]}
    run = at_handover(old, graph("other", version="2.0")).complete("m", {})
    assert [task_.node for task_ in run.open()] == ["old"]


def test_the_new_version_is_asked_for_by_workflow_and_version() -> None:
    run = at_handover()
    (transform,) = run.open()
    result = c.TaskResult(transform.token, 1, transform.nonce, "completed", {})
    with pytest.raises(Missing) as caught:
        decide(run.program, run.state, result, run.now, Facts())
    assert caught.value.need.definitions == {"w@2.0"}
    assert version_key("w", "sha256:ab") == "sha256:ab"


# -- other open tokens

SIDE = graph("a", HANDOVER, "side", version="1.0", transitions=[way("a", "m"), way("a", "side"), way("m", "side")])


def test_other_open_tokens_must_stand_on_nodes_of_the_new_version() -> None:
    run = at_handover(SIDE).complete("m", {})
    assert (run.outcome, run.code) == ("failed", "MIGRATION_CONFLICT")
    assert run.state.fault is not None
    assert [conflict["node"] for conflict in run.state.fault.details["conflicts"]] == ["side"]


def test_other_open_tokens_go_on_in_the_new_version_and_keep_what_they_were_given() -> None:
    new = graph(
        "m", task("side", queue="other"), "end", version="2.0", transitions=[way("m", "side"), way("side", "end")]
    )
    run = at_handover(SIDE, new).complete("m", {})
    assert [(task_.node, task_.queue) for task_ in run.open()] == [("side", "q"), ("side", "other")]
    run.complete("side")
    assert [task_.node for task_ in run.open()] == ["side", "end"]


def test_the_join_of_an_open_group_must_be_in_the_new_version() -> None:
    ways = [
        way("a", "b", foreach="output.items", group="g"),
        way("a", "m"),
        way("b", "j", synchronize={"group": "g"}),
    ]
    old = graph("a", "b", "j", HANDOVER, version="1.0", transitions=ways)
    new = graph("m", "b", version="2.0", transitions=[way("m", "b")])
    run = drive(old, new).start().complete("a", {"items": [1]}).complete("m", {})
    assert run.code == "MIGRATION_CONFLICT"


# -- patches


def test_patches_are_left_behind_and_the_revision_counts_on() -> None:
    run = drive().start()
    run.send(c.Patch("p", ({"op": "replace", "path": "/nodes/old/queue", "value": "x"},)))
    run.complete("a").complete("m", {})
    assert (run.state.revision, run.state.base, run.state.patches, run.state.definition) == (2, 2, [], "")
    run.send(c.Patch("q", ({"op": "replace", "path": "/nodes/new/queue", "value": "x"},), expected_revision=2))
    run.send(c.Revert("r", 2))
    assert (run.state.revision, len(run.state.patches)) == (4, 2)


def test_a_run_can_be_handed_over_by_patching_the_migration_in() -> None:
    run = drive(graph("a", "old", version="1.0", transitions=[way("a", "old")])).start()
    run.send(
        c.Patch(
            "p",
            (
                {"op": "add", "path": "/nodes/-", "value": HANDOVER},
                {"op": "replace", "path": "/edges/a->old/to", "value": "m"},
                {"op": "remove", "path": "/nodes/old"},
            ),
        )
    )
    run.complete("a").complete("m", {})
    assert [task_.node for task_ in run.open()] == ["new"]


def test_a_transform_that_is_told_to_stop_migrates_nothing() -> None:
    run = at_handover()
    (transform,) = run.open()
    run.send(c.Cancel()).answer(transform, {})
    assert (run.outcome, run.state.graph) == ("cancelled", "hash")
    assert run.tasks == {}
