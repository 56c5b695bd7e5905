"""The guide on testing: its example passes, and its file of answers does what it says."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.__main__ import app
from penstock.testkit import workflow

GUIDE = (Path(__file__).parents[4] / "docs" / "guides" / "testing-workflows.md").read_text()


@pytest.fixture
def blocks() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for language, text in re.findall(r"^```(\w+)\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE):
        found.setdefault(language, []).append(text)
    return found


def test_the_example_passes(blocks: dict[str, list[str]], tmp_path: Path) -> None:
    (tmp_path / "order.yaml").write_text(blocks["yaml"][0])
    (tmp_path / "test_order.py").write_text(blocks["python"][0])
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:asyncio", "-p", "no:xdist"]
    command = [sys.executable, "-m", "pytest", *options, "--rootdir", str(tmp_path), str(tmp_path)]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout


def test_the_file_of_answers_is_understood(
    blocks: dict[str, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("order.yaml").write_text(blocks["yaml"][0])
    Path("answers.yaml").write_text(blocks["yaml"][1])
    _, _, *arguments = shlex.split(blocks["console"][0])
    result = CliRunner().invoke(app, arguments)
    assert (result.exit_code, "charge → review → ship" in result.stdout) == (0, True)


def test_everything_that_answers_is_in_the_guide() -> None:
    functions = [name for name in workflow.__all__ if name.islower()]
    assert [name for name in functions if f"{name}(" not in GUIDE] == []


def test_every_verb_of_a_run_is_in_the_guide() -> None:
    public = [name for name in vars(workflow.Run) if not name.startswith("_")]
    inner = {"send", "registered", "start_child", "program"}
    assert [name for name in public if name not in inner and not re.search(rf"\b{name}\b", GUIDE)] == []
