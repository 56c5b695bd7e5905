"""`penstock workflow`: look at a definition before anybody runs it."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from penstock.cli.output import EXIT_FAILED, Format, Output, print_json

if TYPE_CHECKING:
    from penstock.core.definition import Checked, Problem
    from penstock.core.model.graph import GraphRule
    from penstock.notation import Text

app = typer.Typer(no_args_is_help=True, help="Check and draw workflow definitions.")

File = Annotated[Path, typer.Argument(help="A definition in YAML or JSON; - reads standard input.")]


class Picture(StrEnum):
    MERMAID = "mermaid"
    DOT = "dot"


@app.callback()
def _group() -> None:
    """Check and draw workflow definitions."""


@app.command("check")
def check_file(
    file: File,
    strict_types: Annotated[bool, typer.Option("--strict-types", help="Every task must have a named queue.")] = False,
    output: Output = Format.TABLE,
) -> None:
    """Say everything that is wrong with FILE. Exits with 1 if there are errors; warnings alone are fine."""
    checked = _check(_read(file), strict_types=strict_types)
    if output is Format.JSON:
        print_json({"ok": checked.graph is not None, "hash": checked.hash, "problems": checked.problems})
    else:
        for problem in checked.problems:
            _say(problem, file)
        warnings = len(checked.problems) - len(checked.errors)
        typer.echo(f"{file}: {_count(len(checked.errors), 'error')}, {_count(warnings, 'warning')}", err=True)
        if checked.graph is not None:
            typer.echo(checked.hash)
    if checked.graph is None:
        raise typer.Exit(EXIT_FAILED)


@app.command("graph")
def draw(
    file: File,
    picture: Annotated[Picture, typer.Option("--format", help="Which language to draw in.")] = Picture.MERMAID,
) -> None:
    """Print FILE as a picture, in text for Mermaid or Graphviz."""
    from penstock.core.definition.picture import dot, mermaid  # noqa: PLC0415 - keeps `penstock --help` quick

    graph = load(file).graph
    sys.stdout.write(mermaid(graph) if picture is Picture.MERMAID else dot(graph))


@app.command("schema")
def schema() -> None:
    """Print the JSON Schema of definitions, for editors."""
    from penstock.core.definition.schema import json_schema  # noqa: PLC0415 - keeps `penstock --help` quick

    print_json(json_schema())


class Loaded(NamedTuple):
    definition: Any
    graph: GraphRule


def load(file: Path) -> Loaded:
    """A definition without errors; else they are said, and the command ends."""
    text = _read(file)
    checked = _check(text)
    if checked.graph is None:
        for problem in checked.errors:
            _say(problem, file)
        raise typer.Exit(EXIT_FAILED)
    return Loaded(text.data, checked.graph)


def _read(file: Path) -> Text:
    from penstock.notation import read_text  # noqa: PLC0415 - keeps `penstock --help` quick

    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = f"{file} cannot be read: {error}"
        raise typer.BadParameter(reason) from None
    return read_text(text)


def _check(text: Text, *, strict_types: bool = False) -> Checked:
    from penstock.core.definition import check  # noqa: PLC0415 - keeps `penstock --help` quick
    from penstock.expr.evaluator import ExpressionEvaluator  # noqa: PLC0415 - loads the engines

    return check(text.data, evaluator=ExpressionEvaluator(), places=text.places, strict_types=strict_types)


def _say(problem: Problem, file: Path) -> None:
    place = f":{problem.line}:{problem.column}" if problem.line else ""
    colour = "red" if problem.severity == "error" else "yellow"
    typer.secho(f"{file}{place} {problem.severity} {problem.code} at {problem.path}", fg=colour, err=True)
    typer.echo(f"  {problem.message}{f' ({problem.hint})' if problem.hint else ''}", err=True)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
