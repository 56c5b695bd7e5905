"""Every example of the reference page does what the page says, and every operator has one."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.expr import app
from penstock.core.errors import PenstockError
from penstock.expr.cel.check import FUNCTIONS, METHODS
from penstock.expr.cel.compile import EngineName
from penstock.expr.compare import COMPARISONS

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "conditions.md"


def examples() -> list[tuple[str, str]]:
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text(), re.DOTALL)
    found: list[tuple[str, str]] = []
    for block in blocks:
        command: list[str] = []
        for line in block.splitlines():
            if line.startswith("$ "):
                command = [line.removeprefix("$ penstock expr ")]
            elif line.startswith("    "):
                command.append(line)
            else:
                found.append(("\n".join(command), line))
    return found


EXAMPLES = examples()


@pytest.mark.parametrize(("command", "printed"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_an_example_prints_what_the_page_shows(command: str, printed: str, engine: EngineName) -> None:
    result = CliRunner().invoke(app, [*shlex.split(command.replace("\\\n", "")), "--engine", engine])
    if code := re.match(r"EXPR_\w+(?=: )", printed):
        error = result.exception
        assert result.exit_code == 1
        assert (error.code if isinstance(error, PenstockError) else result.stderr.partition(":")[0]) == code[0]
    else:
        assert result.stdout == f"{printed}\n"


def test_the_page_has_an_example_of_every_operator_and_function() -> None:
    commands = "\n".join(command for command, _ in EXAMPLES)
    folds = (f"{fold}_{name}" for fold in ("count", "sum") for name in ("eq", "ne", "lt", "le", "gt", "ge"))
    words = {*COMPARISONS, *folds, "exists", "length()", "AND", "OR", "NOT", *FUNCTIONS, *METHODS}
    assert sorted(word for word in words if word not in commands) == []
