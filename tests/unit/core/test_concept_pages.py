"""The pages on concepts: their examples are run as they stand, and come to what the page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

from penstock.core.definition import check
from penstock.core.definition.picture import mermaid
from penstock.core.model.events import CompensationStarted
from penstock.notation import read_text
from tests.unit.core.graph.drive import EVALUATOR, Drive

Json: TypeAlias = Any

PAGES = sorted((Path(__file__).parents[3] / "docs" / "concepts").glob("*.md"))
SECTIONS = ["Example", "Rules", "Common mistakes"]
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


class Example(NamedTuple):
    definition: str
    picture: str
    trace: Json


def example(page: Path) -> Example:
    """A workflow, its picture, and one run of it."""
    blocks = re.findall(r"^```(yaml|mermaid)\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    assert [kind for kind, _ in blocks] == ["yaml", "mermaid", "yaml"]
    (_, definition), (_, picture), (_, trace) = blocks
    return Example(definition, picture, read_text(trace).data)


def play(definition: Json, trace: Json) -> Drive:
    """Give each node its answers in turn; what is undone answers by itself."""
    run = Drive(definition, trace["input"]).start()
    answers = {name: list(given) for name, given in trace["answers"].items()}
    while run.status != "closed":
        if not run.open():
            run.advance(60)
            continue
        task = run.open()[0]
        if run.status == "compensating":
            run.answer(task)
            continue
        answer = answers[task.node].pop(0)
        if isinstance(answer, dict) and "fail" in answer:
            run.fail(task.node, answer["fail"], retryable=answer.get("retryable", False))
        else:
            run.answer(task, answer)
    assert not any(answers.values())
    return run


def test_there_is_a_page_for_each_concept() -> None:
    assert [page.stem for page in PAGES] == ["failures", "joins", "loops", "scopes", "tokens"]


@each_page
def test_the_example_has_no_problems_and_is_drawn_as_it_is(page: Path) -> None:
    definition, picture, _ = example(page)
    text = read_text(definition)
    checked = check(text.data, evaluator=EVALUATOR)
    assert [str(problem) for problem in checked.problems] == []
    assert checked.graph is not None
    assert mermaid(checked.graph) == picture


@each_page
def test_the_run_comes_to_what_the_page_says(page: Path) -> None:
    definition, _, trace = example(page)
    run = play(read_text(definition).data, trace)
    names = {done.token: done.node for done in run.state.undo.values()}
    undone = [names[event.token] for event, _ in run.log if isinstance(event, CompensationStarted)]
    assert run.outcome == trace["outcome"]
    assert run.output == trace.get("output")
    assert run.code == trace.get("fault")
    assert undone == trace.get("undone", [])


@each_page
def test_every_page_has_the_same_parts(page: Path) -> None:
    text = page.read_text()
    assert re.search(r"^```\n.+?^```$", text, re.DOTALL | re.MULTILINE)
    assert [part for part in SECTIONS if f"\n## {part}" not in text] == []
    assert "\nSee also: " in text
