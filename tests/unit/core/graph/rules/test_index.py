"""The index of the rules is whole: every sentence has its tests, and they exist."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.core.graph.rules.index import RULES, Rule

HERE = Path(__file__).parent
FOLDERS = (HERE, HERE.parent, HERE.parents[1] / "definition", HERE.parents[2] / "expr" / "conditions")


def named_in(path: Path) -> Iterator[str]:
    """As the index names them: `module::name`, with the class in between if there is one."""
    for statement in ast.parse(path.read_text()).body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) and statement.name.startswith("test_"):
            yield f"{path.stem}::{statement.name}"
        elif isinstance(statement, ast.ClassDef):
            methods = [found.name for found in statement.body if isinstance(found, ast.FunctionDef)]
            yield from (f"{path.stem}::{statement.name}::{name}" for name in methods if name.startswith("test_"))


FILES = [path for folder in FOLDERS for path in sorted(folder.glob("test_*.py"))]
KNOWN = {name for path in FILES for name in named_in(path)}


def test_no_two_modules_have_one_name() -> None:
    assert len({path.stem for path in FILES}) == len(FILES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_sentence_has_tests_that_exist_or_says_why_not(rule: Rule) -> None:
    assert set(rule.tests) <= KNOWN
    assert rule.tests or rule.pending or rule.part_5


def test_a_sentence_has_one_id() -> None:
    assert len({rule.id for rule in RULES}) == len({rule.says for rule in RULES}) == len(RULES)


def test_every_trap_is_there() -> None:
    traps = [rule.id for rule in RULES if rule.id.startswith("trap.")]
    assert traps == [f"trap.{number}" for number in range(1, 20)]


def test_what_is_pending_names_its_file_until_that_file_exists() -> None:
    pending = {rule.pending.partition(":")[0] for rule in RULES if rule.pending}
    assert not [name for name in pending if any(path.name == name for path in FILES)], "list its tests"


def test_every_test_of_this_folder_proves_a_sentence() -> None:
    listed = {name for rule in RULES for name in rule.tests}
    here = {name for path in FILES if path.parent == HERE and path != Path(__file__) for name in named_in(path)}
    assert here <= listed
