"""The simulator itself: it repeats itself exactly, finds what is broken, and makes what it found small."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner, Result

from penstock.cli.__main__ import app
from penstock.core.graph.state import State
from penstock.core.model.commands import Command, TaskResult
from penstock.core.model.decider import NO_FACTS, Facts, Need
from penstock.core.model.effects import ArmTimer, DispatchTask, DropTimer, Effect
from penstock.core.model.events import Event
from penstock.core.model.time import SECOND, Instant
from penstock.core.turn.mark import Mark
from penstock.core.turn.outputs import AppendCommit
from penstock.testkit import simulate as package
from penstock.testkit.generate import Features, GeneratedScript, definition
from penstock.testkit.reference import ByNode, Completed, Failed
from penstock.testkit.simulate import Case, Step, WatchedDecider, replay, simulate, steps
from penstock.testkit.simulate.__main__ import main
from penstock.testkit.simulate.campaign import Plan, batches, campaign
from penstock.testkit.simulate.log import Log
from penstock.testkit.simulate.saved import Saved
from penstock.testkit.simulate.shrink import shrink
from penstock.testkit.simulate.steps import MOVES
from penstock.testkit.simulate.tighten import tighten

SEEDS = range(40)


def command(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def generated(seed: int, decider: type[WatchedDecider] = WatchedDecider) -> Case:
    made = definition(seed, features=Features(children=True))
    return Case(made.definition, made.input, made.script, decider=decider)


def kinds(decider: type[WatchedDecider] = WatchedDecider, seeds: Iterable[int] = SEEDS) -> set[str]:
    """What is found in a few schedules of each."""
    found = set()
    for seed in seeds:
        case = generated(seed, decider)
        for schedule in range(4):
            problem = simulate(case, schedule, "many").problem
            found |= {problem.kind} if problem else set()
    return found


# -- what it finds


class LosesTasks(WatchedDecider):
    """After a crash, nobody would do them."""

    def outstanding(self, state: State, facts: Facts = NO_FACTS) -> list[Effect]:
        return [effect for effect in super().outstanding(state, facts) if not isinstance(effect, DispatchTask)]


class LosesTimers(WatchedDecider):
    def outstanding(self, state: State, facts: Facts = NO_FACTS) -> list[Effect]:
        return [effect for effect in super().outstanding(state, facts) if not isinstance(effect, ArmTimer)]

    def effects(self, state: State, events: Iterable[Event], facts: Facts = NO_FACTS) -> list[Effect]:
        return [effect for effect in super().effects(state, events, facts) if not isinstance(effect, DropTimer)]


class ChangesState(WatchedDecider):
    """Other than by events."""

    def decide(self, state: State, command: Command, now: Instant, facts: Facts = NO_FACTS) -> list[Event] | Need:
        state.hops += isinstance(command, TaskResult)
        return super().decide(state, command, now, facts)


class Remembers(WatchedDecider):
    """More than the state: decided again, it decides otherwise."""

    decisions = 0

    def decide(self, state: State, command: Command, now: Instant, facts: Facts = NO_FACTS) -> list[Event] | Need:
        Remembers.decisions += 1
        return super().decide(state, command, Instant(now + Remembers.decisions), facts)


class Raises(WatchedDecider):
    def decide(self, state: State, command: Command, now: Instant, facts: Facts = NO_FACTS) -> list[Event] | Need:
        if isinstance(command, TaskResult) and command.token > 3:
            raise ZeroDivisionError
        return super().decide(state, command, now, facts)


@pytest.mark.parametrize(
    ("decider", "expected"),
    [
        (LosesTasks, {"stuck"}),
        (LosesTimers, {"stuck"}),
        (ChangesState, {"fold"}),
        (Remembers, {"fold", "decided again"}),
        (Raises, {"incident"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_broken_decider_is_found(decider: type[WatchedDecider], expected: set[str]) -> None:
    assert kinds(decider) & expected


def _moved_on(mark: Mark) -> int:
    return mark.next


def _nothing_seen(*_: object) -> None:
    pass


def _unguarded(
    append: Callable[[Log, AppendCommit, Instant], object],
) -> Callable[[Log, AppendCommit, Instant], object]:
    def follow_anything(log: Log, request: AppendCommit, now: Instant) -> object:
        return append(log, replace(request, head=log.head), now)

    return follow_anything


def test_a_mark_that_moves_on_too_early_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mark, "value", property(_moved_on))
    assert kinds() & {"stuck", "effect lost"}


def test_a_log_without_its_guard_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Log, "append", _unguarded(Log.append))
    assert kinds()


def test_a_loop_that_forgets_what_it_committed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.core.turn.run.Run.remember", _nothing_seen)
    assert "twice" in kinds()


def test_a_run_unlike_its_prediction_is_found() -> None:
    nodes = {"a": {"output": {"x": "output"}}}
    case = Case({"nodes": nodes, "transitions": []}, {}, ByNode({"a": Completed(1)}))
    assert simulate(case, 1).problem is None
    case.script = ByNode({"a": Failed("E_OTHER")})
    problem = simulate(case, 1).problem
    assert problem is not None
    assert problem.kind == "prediction"


# -- schedules are data


def test_the_same_schedule_gives_the_same_run() -> None:
    case = generated(7)
    first = simulate(case, 3, "many")
    again = replay(case, first.steps)
    assert again.steps == first.steps
    assert [entry.head for entry in again.world.log.entries] == [entry.head for entry in first.world.log.entries]


def test_every_step_comes_about() -> None:
    taken = {step.what for seed in range(60) for step in simulate(generated(seed), 15 + 16 * seed, "many").steps}
    assert taken == MOVES.keys()


def test_without_faults_there_are_none() -> None:
    made = steps(0, "none")
    assert {next(made).what for _ in range(100)} == {"go"}


def test_a_failing_schedule_is_shrunk_saved_and_replayed(tmp_path: Path) -> None:
    made = definition(1)
    case = Case(made.definition, made.input, made.script, decider=LosesTasks)
    failed = next(result for seed in range(100) if (result := simulate(case, seed, "many")).problem)
    small = shrink(case, failed.steps)
    assert len(small) < len(failed.steps) / 3
    again = replay(case, small).problem
    assert failed.problem is not None
    assert again is not None
    assert again.kind == failed.problem.kind
    path = tmp_path / "schedule.json"
    Saved("stuck", made.definition, made.input, made.script, small).write(path)
    saved = Saved.read(path)
    assert (saved.steps, saved.script, saved.definition) == (small, made.script, made.definition)
    assert command("simulate", "--schedule", str(path)).exit_code == 0  # with a decider that is not broken


def test_a_step_that_has_nothing_to_do_is_left_out() -> None:
    case = generated(2)
    assert replay(case, [Step("linger", 1), Step("unsave", 1), Step("go", 0)]).steps == [Step("go", 0)]


def test_a_month_takes_a_few_steps() -> None:
    month = 30 * 86_400
    nodes = {"w": {"type": "wait", "wait": {"duration": month}}, "a": {"input": {"n": "input.n"}}}
    case = Case({"nodes": nodes, "transitions": [{"from": "w", "to": "a"}]}, {"n": 1}, GeneratedScript(0, {}))
    result = simulate(case, 0, "none")
    assert result.problem is None
    assert result.world.now > month * SECOND
    assert len(result.steps) < 20


# -- many of them


def test_a_campaign_runs_as_many_as_it_is_asked_for() -> None:
    assert sum(batch.runs for batch in batches(Plan(100))) == 100
    assert sum(done.runs for done in campaign(Plan(20, seed=3), 1)) == 20


def test_the_command_says_whether_anything_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--runs", "20", "--processes", "1", "--folder", str(tmp_path), "--faults", "many"]
    assert main(arguments) == 0
    monkeypatch.setattr("penstock.core.turn.run.Run.remember", _nothing_seen)
    assert main([*arguments, "--runs", "100"]) == 1
    (path, *_) = tmp_path.iterdir()
    assert str(path) in capsys.readouterr().out
    assert command("simulate", "--schedule", str(path)).exit_code == 1


def test_a_file_that_is_no_schedule_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text("{}")
    assert command("simulate", "--schedule", str(path)).exit_code == 2
    assert command("simulate").exit_code == 2


def test_no_test_framework_is_imported() -> None:
    sources = Path(package.__file__ or "").parent.glob("*.py")
    imported = {
        name.split(".")[0]
        for source in sources
        for node in ast.walk(ast.parse(source.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
    }
    assert "penstock" in imported
    assert not imported & {"pytest", "hypothesis", "unittest", "_pytest"}


def test_limits_that_are_never_reached_change_no_prediction() -> None:
    for seed in range(20):
        made = definition(seed)
        tight = tighten(made.definition, seed)
        case, plain = (Case(each, made.input, made.script) for each in (tight, made.definition))
        assert case.prediction == plain.prediction
        assert simulate(case, seed).problem is None
