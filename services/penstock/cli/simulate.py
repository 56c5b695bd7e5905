"""`penstock simulate`: a dry run of a definition, with scripted answers or such as chance gives, on virtual time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from penstock.cli.output import EXIT_FAILED, Format, Output, data_console, print_json
from penstock.cli.workflow import load

if TYPE_CHECKING:
    from penstock.testkit.workflow import Recorded, Run, Workflow

_COLOURS = {"run": "bold", "node": "green", "task": "cyan", "approval": "magenta", "signal": "magenta", "token": "dim"}
_COLOURS |= {"timer": "dim", "incident": "red", "compensation": "yellow", "child": "blue", "join": "blue"}
_SHOWN = 20
_BAD = ("failed", "exhausted", "parked", "ending")


def simulate(
    file: Annotated[Path | None, typer.Argument(help="The definition, YAML or JSON.", dir_okay=False)] = None,
    given: Annotated[str | None, typer.Option("--input", help="The run's input as JSON; @file reads it.")] = None,
    answers: Annotated[
        Path | None, typer.Option("--answers", help="What comes of which node, in YAML or JSON.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the chance that answers for nodes without an answer.")] = 0,
    others: Annotated[list[Path] | None, typer.Option("--other", help="A workflow that it calls; repeat it.")] = None,
    schedule: Annotated[
        Path | None, typer.Option("--schedule", help="Replay a schedule that `make simulate` saved, instead of a FILE.")
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Run FILE without a server, and print what happens. Exits with 1 unless the run completes."""
    if schedule is not None:
        _replay(schedule)
        return
    if file is None:
        reason = "name a definition, or a `--schedule`"
        raise typer.BadParameter(reason, param_hint="FILE")
    workflow = _workflow(file, others or [])
    if answers is not None:
        _script(workflow, answers)
    run = workflow.at_random(seed).start(_input(workflow, given, seed)).until_closed()
    if output is Format.JSON:
        print_json(_data(run))
    else:
        _show(run, seed)
    if run.outcome != "completed":
        raise typer.Exit(EXIT_FAILED)


def _replay(path: Path) -> None:
    """Step by step, with all the faults in it; what is wrong, if anything is, comes last."""
    from penstock.testkit.simulate import replay  # noqa: PLC0415 - loads the engines
    from penstock.testkit.simulate.saved import Saved  # noqa: PLC0415 - as above

    try:
        saved = msgspec.json.decode(_text(path), type=Saved)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        reason = f"{path} is no saved schedule: {error}"
        raise typer.BadParameter(reason, param_hint="--schedule") from None
    result = replay(saved.case(), saved.steps)
    for step in saved.steps:
        typer.echo(f"{step.what} {step.which}")
    if result.problem is not None:
        typer.echo(str(result.problem), err=True)
        raise typer.Exit(EXIT_FAILED)
    typer.echo("nothing is wrong", err=True)


def _workflow(file: Path, others: list[Path]) -> Workflow:
    from penstock.testkit.workflow import Workflow  # noqa: PLC0415 - loads the engines

    return Workflow(load(file).definition, others=[Workflow(load(other).definition) for other in others])


def _script(workflow: Workflow, answers: Path) -> None:
    from penstock.notation import read_text  # noqa: PLC0415 - keeps `penstock --help` quick
    from penstock.testkit.workflow import script_from  # noqa: PLC0415 - loads the engines

    script_from(workflow, read_text(_text(answers)).data)


def _input(workflow: Workflow, given: str | None, seed: int) -> Any:  # noqa: ANN401 - JSON
    """Of the schema, where there is one and nothing is given."""
    from penstock.testkit.workflow.chance import Chance  # noqa: PLC0415 - keeps `penstock --help` quick

    if given is None:
        return Chance(seed).value(workflow.input_schema) if workflow.input_schema is not None else None
    try:
        return msgspec.json.decode(_text(Path(given[1:])) if given.startswith("@") else given)
    except msgspec.DecodeError as error:
        reason = f"it is not JSON: {error}"
        raise typer.BadParameter(reason, param_hint="--input") from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = f"{path} cannot be read: {error}"
        raise typer.BadParameter(reason) from None


def _data(run: Run) -> dict[str, Any]:
    return {
        "status": run.status,
        "outcome": run.outcome,
        "fault": run.fault,
        "output": run.output,
        "state": run.state,
        "path": run.path,
        "undone": run.undone,
        "by_chance": list(run.script.drawn),
        "why": None if run.status == "closed" else run.why(),
        "events": [{"at": found.time, "node": found.node, "event": found.event} for found in run.events],
    }


def _show(run: Run, seed: int) -> None:
    from rich.text import Text  # noqa: PLC0415 - slow to import

    console = data_console()
    kind = max(len(found.kind) for found in run.events)
    node = max(len(found.node) for found in run.events)
    for found in run.events:
        event = (f"{found.kind:<{kind}}", _colour(found))
        console.print(Text.assemble(found.time, "  ", event, "  ", f"{found.node:<{node}}", "  ", found.gist))
    rows = {
        "path": _way(run.path),
        "undone": _way(run.undone),
        "state": msgspec.json.encode(run.state).decode(),
        "output": msgspec.json.encode(run.output).decode(),
        "status": f"{run.status}, {run.outcome}" if run.outcome else run.status,
        "fault": f"{run.fault.code} on {run.fault.node}: {run.fault.message}" if run.fault else "",
    }
    console.print()
    for name, text in rows.items():
        if text:
            console.print(f"{name:<7}", Text(text))
    for waiting in () if run.status == "closed" else run.why().tokens:
        console.print("waits  ", Text(waiting.sentence))
    if run.script.drawn:
        typer.echo(f"By chance, from seed {seed}: {', '.join(run.script.drawn)}", err=True)


def _way(nodes: list[str]) -> str:
    """Of a long one, both ends."""
    left_out = len(nodes) - 2 * _SHOWN
    shown = [*nodes[:_SHOWN], f"({left_out} more)", *nodes[-_SHOWN:]] if left_out > 0 else nodes
    return " → ".join(shown)


def _colour(found: Recorded) -> str:
    return "red" if found.kind.endswith(_BAD) else _COLOURS.get(found.kind.split(".")[0], "")
