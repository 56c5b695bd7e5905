"""`penstock simulate` on files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner, Result

from penstock.cli.__main__ import app

ORDER = """
name: order
input_schema: {type: object, properties: {amount: {type: integer}}, required: [amount]}
nodes:
  charge: {queue: q, retry: {max_attempts: 2, delay: 1d}, output: {paid: output.id}}
  review: {type: human}
  ship:   {type: workflow, workflow: shipping}
transitions:
  - {from: charge, to: review}
  - {from: review, to: ship}
"""
SHIPPING = "name: shipping\nnodes: {pack: {queue: q, output_schema: {enum: [packed]}}}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "order.yaml").write_text(ORDER)
    (tmp_path / "shipping.yaml").write_text(SHIPPING)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def simulate(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["simulate", *arguments])


def simulated(*arguments: str) -> Any:  # noqa: ANN401 - JSON
    return msgspec.json.decode(simulate(*arguments, "-o", "json").stdout)


def test_a_definition_runs_by_chance_and_the_seed_repeats_it(folder: Path) -> None:
    first, second, other = (simulated("order.yaml", "--seed", seed) for seed in ("1", "1", "2"))
    assert (first["outcome"], first["path"]) == ("completed", ["charge", "review", "ship"])
    assert first == second
    assert first != other
    assert first["by_chance"] == ["charge", "review", "ship"]


def test_answers_come_from_a_file(folder: Path) -> None:
    (folder / "answers.yaml").write_text("charge: [{fail: BUSY, retryable: true}, {id: 7}]\nship: sent\n")
    answer = simulated("order.yaml", "--answers", "answers.yaml", "--input", '{"amount": 5}')
    assert (answer["output"], answer["state"], answer["by_chance"]) == ("sent", {"paid": 7}, ["review"])
    assert answer["events"][0]["event"]["input"] == {"amount": 5}
    assert answer["events"][-1]["at"].startswith("2026-01-02")


def test_workflows_that_it_calls_are_run_too(folder: Path) -> None:
    assert simulated("order.yaml", "--other", "shipping.yaml")["output"] == "packed"


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        pytest.param("review: {reject: ana}", "REJECTED", id="a run that does not complete"),
        pytest.param("review: {never: true}", "`review`", id="a run that waits for ever, and for what"),
        pytest.param("charge: [{fail: X, retryable: true}, {fail: X, retryable: true}]", "X on charge", id="a fault"),
        pytest.param("chrage: {}", "NODE_UNKNOWN", id="an answer for a node that does not exist"),
        pytest.param("charge: {fail: X, id: 7}", "ANSWERS_UNREADABLE", id="an answer that says two things"),
    ],
)
def test_whatever_does_not_complete_is_a_failure_and_says_why(folder: Path, answers: str, said: str) -> None:
    (folder / "answers.yaml").write_text(answers)
    result = simulate("order.yaml", "--answers", "answers.yaml")
    assert result.exit_code == 1
    assert said in result.output


def test_programs_are_told_why_a_run_waits(folder: Path) -> None:
    (folder / "answers.json").write_text('{"review": {"never": true}}')
    assert simulated("order.yaml", "--answers", "answers.json")["why"]["status"] == "waiting"


def test_people_read_the_events_the_path_and_the_state(folder: Path) -> None:
    result = simulate("order.yaml")
    assert result.exit_code == 0
    for text in ("node.completed", "charge → review → ship", '{"paid":'):
        assert text in result.stdout
    assert "seed 0" in result.stderr


def test_of_a_long_path_both_ends_are_shown(folder: Path) -> None:
    (folder / "loop.yaml").write_text("nodes: {a: {loop: {max_iterations: 90, timeout_path: [b]}}, b: {}}\n")
    assert "a → (51 more) → a" in simulate("loop.yaml").stdout


def test_input_comes_from_a_file(folder: Path) -> None:
    (folder / "input.json").write_text('{"amount": 9}')
    assert simulated("order.yaml", "--input", "@input.json")["events"][0]["event"]["input"] == {"amount": 9}


@pytest.mark.parametrize("wrong", [("--input", "{"), ("--input", "@nowhere.json"), ("--answers", "nowhere.yaml")])
def test_what_cannot_be_read_is_a_wrong_argument(folder: Path, wrong: tuple[str, str]) -> None:
    assert simulate("order.yaml", *wrong).exit_code == 2


def test_problems_of_the_definition_are_said_with_their_lines(folder: Path) -> None:
    (folder / "bad.yaml").write_text("nodes:\n  a: {dependents: [nowhere]}\n")
    result = simulate("bad.yaml")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "bad.yaml:2:" in result.stderr
