"""The shape of the repository: files, packages, public surface, verbs, and that documents point at what exists."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import subprocess
from pathlib import Path

import pytest

import penstock

ROOT = Path(__file__).parents[2]
PACKAGES = sorted(module.name for module in pkgutil.iter_modules(penstock.__path__))
MAKEFILE = (ROOT / "Makefile").read_text()
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "deploy").rglob("*.md")])

EXPORTS = {
    "penstock.core.definition": [
        "Checked",
        "DefinitionInvalid",
        "FORMAT",
        "NodeType",
        "Place",
        "Places",
        "Problem",
        "check",
        "compile_definition",
    ],
    "penstock.core.definition.patch": [
        "Changed",
        "Changes",
        "MAX_OPERATIONS",
        "PatchError",
        "PatchMalformed",
        "PatchPathInvalid",
        "PatchTestFailed",
        "PatchTooLarge",
        "Summary",
        "apply",
        "breaking_changes",
        "diff",
        "next_version",
        "summarize",
    ],
    "penstock.core.turn": [
        "Abandon",
        "Accepted",
        "Ack",
        "AppendCommit",
        "Appended",
        "Bury",
        "ConfirmLast",
        "Conflicted",
        "Deliver",
        "Doubtful",
        "Failed",
        "FetchFacts",
        "Fetched",
        "Gained",
        "Heal",
        "Input",
        "Kind",
        "LastRead",
        "Limits",
        "LoadRun",
        "Loaded",
        "Lost",
        "Nak",
        "Output",
        "PublishEffects",
        "Published",
        "RaiseIncident",
        "Recalled",
        "Refused",
        "SaveMark",
        "SaveSnapshot",
        "Scan",
        "Scanned",
        "Shard",
        "Summary",
        "TimerDue",
        "TimerSettled",
        "recall",
    ],
    "penstock.expr.ale": [
        "AleProgram",
        "DEFAULT",
        "Limits",
        "compile_ale",
        "is_object",
    ],
    "penstock.expr.script": [
        "Limits",
        "Script",
        "Scripts",
    ],
    "penstock.fabric.catalogue": [
        "JetStreamAggregateRecorder",
        "JetStreamApplicationRecorder",
        "JetStreamFactory",
        "JetStreamProcessRecorder",
        "JetStreamSnapshotRecorder",
        "JetStreamTrackingRecorder",
    ],
    "penstock.notation": [
        "NotationError",
        "Text",
        "read_text",
    ],
    "penstock.testkit.generate": [
        "Behaviour",
        "CALM",
        "EVERYTHING",
        "Features",
        "Generated",
        "GeneratedScript",
        "definition",
    ],
    "penstock.testkit.reference": [
        "Answer",
        "Asked",
        "BranchPath",
        "ByNode",
        "Compensation",
        "Completed",
        "Decided",
        "Ending",
        "Execution",
        "Failed",
        "Observed",
        "Prediction",
        "Reference",
        "Script",
        "TooManyVisits",
        "execution_key",
    ],
    "penstock.testkit.simulate": [
        "Case",
        "Level",
        "Problem",
        "Result",
        "Step",
        "WatchedDecider",
        "replay",
        "simulate",
        "steps",
    ],
    "penstock.testkit.workflow": [
        "Answer",
        "AnswerUnfit",
        "AnswersUnreadable",
        "AnswersUsedUp",
        "Ask",
        "EPOCH",
        "NodeUnknown",
        "NodeUnscripted",
        "Recorded",
        "Run",
        "RunEndless",
        "ScriptError",
        "Workflow",
        "approves",
        "chooses",
        "fails",
        "never",
        "rejects",
        "returns",
        "script_from",
        "takes",
    ],
}
"""What packages promise to whoever imports from them; everything else is imported from its own module."""


@pytest.mark.parametrize(
    "name",
    [
        ".ci/run",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "LICENSE",
        "Makefile",
        "README.md",
        "bench",
        "buf.yaml",
        "deploy",
        "docker-compose.yml",
        "docs",
        "libs",
        "proto",
        "pyproject.toml",
        "services",
        "tests",
        "uv.lock",
    ],
)
def test_the_top_level_has_what_it_should(name: str) -> None:
    assert (ROOT / name).exists()


def test_penstock_is_a_namespace_over_libs_and_services() -> None:
    assert [path for path in penstock.__path__ if (Path(path) / "__init__.py").exists()] == []
    for root in ("libs", "services"):
        assert not (ROOT / root / "penstock" / "__init__.py").exists()
        assert not (ROOT / root / "__init__.py").exists()


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_says_that_it_is_typed(package: str) -> None:
    module = importlib.import_module(f"penstock.{package}")
    assert all((Path(path) / "py.typed").is_file() for path in module.__path__)


def test_every_folder_with_code_is_a_package() -> None:
    folders = {
        path.parent for root in ("libs", "services") for path in (ROOT / root).rglob("*.py") if path.parent != ROOT
    }
    assert sorted(folder for folder in folders if not (folder / "__init__.py").exists()) == []


def test_every_service_can_be_run_as_a_module() -> None:
    services = [path for path in (ROOT / "services" / "penstock").iterdir() if (path / "__init__.py").exists()]
    assert services
    assert [service.name for service in services if not (service / "__main__.py").exists()] == []


def test_every_package_is_held_to_the_import_arrows() -> None:
    listed = set(re.findall(r'^  "penstock\.(\w+)",$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE))
    assert set(PACKAGES) <= listed


def test_the_public_surface_is_what_it_was() -> None:
    found = {}
    for init in sorted(path for root in ("libs", "services") for path in (ROOT / root).rglob("__init__.py")):
        names = [
            ast.literal_eval(node.value)
            for node in ast.parse(init.read_text()).body
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets)
        ]
        if names:
            package = ".".join(init.parent.relative_to(ROOT).parts[1:])
            found[package] = sorted(names[0])
    assert found == EXPORTS


def test_what_is_exported_exists() -> None:
    for package, names in EXPORTS.items():
        module = importlib.import_module(package)
        assert [name for name in names if not hasattr(module, name)] == []


def test_no_module_is_named_after_nothing_in_particular() -> None:
    vague = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}
    modules = [path for root in ("libs", "services", "tests", "bench") for path in (ROOT / root).rglob("*.py")]
    assert [path for path in modules if path.stem in vague] == []


def test_every_module_of_ours_says_what_it_owns() -> None:
    silent = [
        path.relative_to(ROOT)
        for root in ("libs", "services", "bench")
        for path in (ROOT / root).rglob("*.py")
        if "v1" not in path.parts
        and (source := path.read_text()).strip()
        and ast.get_docstring(ast.parse(source)) is None
    ]
    assert silent == []


# -- verbs


def test_help_lists_every_verb() -> None:
    argv = ["make", "--no-print-directory", "help"]
    shown = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True)
    listed = set(re.findall(r"^\s*(?:\x1b\[36m)?([a-z-]+)", shown.stdout, re.MULTILINE))
    (phony,) = re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    assert listed == set(phony.split()) - {"gen-check"}
    assert {"run", "test", "check", "fmt", "gen", "up", "down", "clean", "help"} <= listed


def test_ci_calls_only_make() -> None:
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    commands = [line for line in lines if line and not line.startswith(("#", "set ", "cd "))]
    assert commands == ["make check", "make test"]


# -- documents


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_documents_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_page_can_be_reached_from_the_index() -> None:
    seen: set[Path] = set()
    pending = [ROOT / "docs" / "README.md"]
    while pending:
        page = pending.pop().resolve()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        pending += [page.parent / link for link in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text())]
    pages = {page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "errors"}
    assert sorted(pages - seen) == []


@pytest.mark.parametrize("folder", ["architecture"])
def test_every_page_on_a_hard_idea_says_what_is_not_guaranteed(folder: str) -> None:
    pages = [page for page in (ROOT / "docs" / folder).glob("*.md") if page.name != "README.md"]
    assert pages
    assert [page.name for page in pages if "\n## What is NOT guaranteed\n" not in page.read_text()] == []


def test_every_decision_is_dated_and_has_a_status() -> None:
    decisions = sorted((ROOT / "docs" / "adr").glob("[0-9]*.md"))
    assert [int(page.name[:4]) for page in decisions] == list(range(1, len(decisions) + 1))
    for page in decisions:
        table = dict(re.findall(r"^\| (\w+) \| (.+?) \|$", page.read_text(), re.MULTILINE))
        assert {"Date", "Author", "Status", "Tags"} <= table.keys(), page


def test_the_examples_in_the_readme_use_what_exists() -> None:
    programs = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert programs
    for program in programs:
        for node in ast.walk(ast.parse(program)):
            if isinstance(node, ast.ImportFrom) and node.module:
                module = importlib.import_module(node.module)
                assert [alias.name for alias in node.names if not hasattr(module, alias.name)] == []
