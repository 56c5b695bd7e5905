"""The page on patterns and the tests of patterns say the same."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

from penstock.core.definition import check
from tests.unit.core.graph.drive import EVALUATOR
from tests.unit.core.graph.patterns import page


def written() -> list[tuple[int, str]]:
    """Number and name of each, from `test_wcp_01_sequence`."""
    trees = [ast.parse(file.read_text()) for file in Path(__file__).parent.glob("test_*.py")]
    names = [found.name for tree in trees for found in tree.body if isinstance(found, ast.FunctionDef)]
    matches = [re.fullmatch(r"test_wcp_(\d\d)_(\w+)", name) for name in names]
    return sorted((int(match[1]), match[2]) for match in matches if match)


def words(name: str) -> str:
    return re.sub(r"\W+", "_", name.lower())


def test_all_43_patterns_are_on_the_page_in_order() -> None:
    assert [row.number for row in page.rows()] == list(range(1, 44))


def test_every_pattern_has_one_test_with_its_name() -> None:
    assert written() == [(row.number, words(row.name)) for row in page.rows()]


def test_the_figures_at_the_top_are_those_of_the_table() -> None:
    counts = Counter(row.support for row in page.rows())
    assert set(counts) <= {"direct", "by construction", "not supported"}
    shown = re.search(r"\*\*(\d+) direct, (\d+) by construction, (\d+) not supported\*\*", page.TEXT)
    assert shown is not None
    found = [counts["direct"], counts["by construction"], counts["not supported"]]
    assert found == [int(number) for number in shown.groups()]


def test_every_construction_has_an_example_that_its_row_links_to() -> None:
    rows = {row.number: row for row in page.rows()}
    examples = page.examples()
    assert {number for number, row in rows.items() if row.support == "by construction"} <= examples.keys()
    assert {number: name for number, (name, _) in examples.items()} == {n: rows[n].name for n in examples}
    anchors = {n: f"[example](#wcp-{n}-{name.lower().replace(' ', '-')})" for n, (name, _) in examples.items()}
    assert [n for n, anchor in anchors.items() if anchor not in rows[n].how] == []


def test_the_examples_have_no_problems_but_queues_left_out() -> None:
    problems = [found for _, text in page.examples().values() for found in check(text, evaluator=EVALUATOR).problems]
    assert {found.code for found in problems} <= {"QUEUE_DEFAULT"}
