"""Conditions that run user code: one task per tier, and a verdict that is an event."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.graph.effects import outstanding
from penstock.core.model import commands as c
from penstock.core.model import effects as f
from penstock.core.model import events as e
from tests.unit.core.graph.drive import Drive
from tests.unit.core.graph.rules.shapes import chain, nodes_open, recorded, run_of, task, way

Json = Any


def code(name: str) -> dict[str, Json]:
    return {"type": "python_sandbox", "code": f"def evaluate(output, context):\n    return output == {name!r}\n"}


def questions(run: Drive) -> list[f.DispatchTask]:
    found = [effect for effect in outstanding(run.program, run.state) if isinstance(effect, f.DispatchTask)]
    return [effect for effect in found if effect.purpose == "route"]


def programs(question: f.DispatchTask) -> list[str]:
    return [program["id"] for program in question.config["programs"]]


def judged(run: Drive, *verdicts: Json) -> Drive:
    (question,) = questions(run)
    return run.answer(question, dict(zip(programs(question), verdicts, strict=True)))


TIERS = [
    way("a", "b", when=code("b")),
    way("a", "c", when=code("c")),
    way("a", "d", when="output == 'd'"),
    way("a", "x", when=code("x"), priority=2),
    way("a", "z", priority=3),
]


def tiers(**more: Json) -> Drive:
    return run_of(task("a", **more), *"bcdxz", ways=TIERS).complete("a", "d")


def test_all_sandboxed_conditions_of_a_tier_go_out_as_one_task_with_what_they_see() -> None:
    (question,) = questions(tiers())
    assert len(programs(question)) == 2
    assert question.input["output"] == "d"


def test_the_token_is_routing_and_the_run_is_not_over() -> None:
    run = tiers()
    assert [token.status for token in run.state.tokens.values()] == ["routing"]
    assert (run.outcome, nodes_open(run)) == (None, ["a"])


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        pytest.param((True, True), ["b", "c", "d"], id="both"),
        pytest.param((False, True), ["c", "d"], id="one"),
        pytest.param((False, False), ["d"], id="none, but a plain one of its tier"),
    ],
)
def test_the_verdict_is_an_event_and_evaluation_goes_on_from_there(
    verdicts: tuple[bool, ...], expected: list[str]
) -> None:
    run = judged(tiers(), *verdicts)
    assert nodes_open(run) == expected
    assert len(recorded(run, e.RoutingAnswered)) == 1


def test_a_later_tier_is_asked_only_when_the_one_before_has_no_match() -> None:
    run = run_of("a", *"bcdxz", ways=TIERS).complete("a", "?")
    judged(run, False, False)
    (question,) = questions(run)
    assert len(programs(question)) == 1
    assert nodes_open(judged(run, False)) == ["z"]


def test_a_tier_that_needs_none_is_decided_without_asking() -> None:
    run = run_of("a", "b", "c", ways=[way("a", "b"), way("a", "c", when=code("c"), priority=2)]).complete("a")
    assert (nodes_open(run), questions(run)) == (["b"], [])


@pytest.mark.parametrize(("policy", "expected"), [("fail", "CONDITION_ERROR"), ("no_match", None)])
def test_a_program_that_breaks_is_a_condition_that_raises(policy: str, expected: str | None) -> None:
    run = judged(tiers(on_condition_error=policy), {"code": "EXPR_EVALUATION", "message": "it broke"}, False)
    assert run.code == expected
    assert nodes_open(run) == ([] if expected else ["d"])


def test_programs_that_nobody_evaluates_do_not_hang() -> None:
    assert tiers().advance(3600).code == "CONDITION_ERROR"


def test_a_loops_condition_may_be_sandboxed() -> None:
    node = task("a", loop={"condition": code("again"), "max_iterations": 3})
    run = run_of(node, "b", ways=chain("a", "b")).complete("a", "again")
    assert nodes_open(judged(run, True)) == ["a"]
    run.complete("a", "done")
    assert nodes_open(judged(run, False)) == ["b"]


def test_an_error_way_may_be_sandboxed() -> None:
    run = run_of("a", "h", ways=[way("a", "h", on="error", when=code("x"))]).fail("a")
    assert run.outcome is None
    assert nodes_open(judged(run, True)) == ["h"]


def test_an_error_way_that_does_not_hold_does_not_catch() -> None:
    run = run_of("a", "h", ways=[way("a", "h", on="error", when=code("x"))]).fail("a")
    assert judged(run, False).code == "BOOM"


def test_a_branch_is_open_while_its_token_is_routing() -> None:
    ways = [way("a", "b", group="g", foreach="[0, 1]"), way("b", "j", when=code("x"), synchronize={"group": "g"})]
    run = run_of(task("a"), task("b", on_no_match="end"), "j", ways=ways).complete("a")
    for number, found in enumerate(run.open("b")):
        run.answer(found, number)
    first, second = questions(run)
    run.answer(second, {programs(second)[0]: True})
    assert run.open("j") == []
    run.answer(first, {programs(first)[0]: False})
    assert run.open("j")[0].input == [1]


def test_nothing_is_asked_of_a_sandbox_while_the_run_is_paused() -> None:
    run = run_of("a", *"bcdxz", ways=TIERS)
    (found,) = run.open()
    run.send(c.Pause()).answer(found, "d")
    assert questions(run) == []
    assert len(questions(run.send(c.Resume()))) == 1


def test_a_verdict_that_comes_while_paused_is_taken() -> None:
    run = tiers()
    (question,) = questions(run)
    run.send(c.Pause()).answer(question, dict.fromkeys(programs(question), True))
    assert nodes_open(run) == []
    assert nodes_open(run.send(c.Resume())) == ["b", "c", "d"]


def test_a_cancelled_run_does_not_wait_for_a_verdict() -> None:
    run = tiers().send(c.Cancel())
    assert (run.outcome, run.status) == ("cancelled", "closed")


def test_a_late_verdict_changes_nothing() -> None:
    run = tiers()
    (question,) = questions(run)
    judged(run, True, False)
    run.answer(question, dict.fromkeys(programs(question), True))
    assert nodes_open(run) == ["b", "d"]
