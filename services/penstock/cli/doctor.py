"""`penstock doctor`: what is wrong here, and how to fix it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.output import EXIT_FAILED, ConfigFile, DataFolder, Format, Output, data_console, print_json

if TYPE_CHECKING:
    from penstock.cli.checks.finding import Finding, Patient

_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


def doctor(
    *,
    data_dir: DataFolder = Path(".penstock"),
    nats: Annotated[str | None, typer.Option(metavar="URL", help="Look at this NATS.")] = None,
    nats_monitor: Annotated[
        str | None, typer.Option(metavar="URL", help="Its monitoring port, for what it tells nowhere else.")
    ] = None,
    postgres: Annotated[str | None, typer.Option(metavar="DSN", help="Look at this Postgres.")] = None,
    config: ConfigFile = None,
    output: Output = Format.TABLE,
) -> None:
    """Check servers, streams, disk and clocks, and say how to fix what is wrong.

    Looks at the `penstock dev` that runs on the data folder, else at what is configured; flags win over both.
    """
    import asyncio  # noqa: PLC0415 - keeps `penstock --help` quick

    from penstock.cli.checks import examine  # noqa: PLC0415 - as above

    flags = {"nats.url": nats, "postgres.dsn": postgres}
    patient = _patient(data_dir, {key: value for key, value in flags.items() if value}, nats_monitor, config)
    findings = asyncio.run(examine(patient))
    if output is Format.JSON:
        print_json(findings)
    else:
        _print(findings)
    if any(finding.status == "fail" for finding in findings):
        raise typer.Exit(EXIT_FAILED)


def _patient(data: Path, flags: dict[str, str], monitor: str | None, config: Path | None) -> Patient:
    from penstock.cli.checks.finding import Patient  # noqa: PLC0415 - keeps `penstock --help` quick
    from penstock.embedded import stack  # noqa: PLC0415 - as above
    from penstock.kit.config import env_name, load  # noqa: PLC0415 - as above

    running = stack.load(data)
    told = {**(running.settings if running else {}), **flags}
    environ = {**os.environ, **{env_name(key): value for key, value in told.items()}}
    return Patient(load(environ, config).config, data.resolve(), running, monitor)


def _print(findings: list[Finding]) -> None:
    from rich.markup import escape  # noqa: PLC0415 - slow to import
    from rich.table import Table  # noqa: PLC0415 - as above

    table = Table("", "check", "found", box=None, pad_edge=False)
    for finding in findings:
        fix = f"\n[dim]→ {escape(finding.fix)}[/dim]" if finding.fix else ""
        status = f"[{_COLOURS[finding.status]}]{finding.status}[/]"
        table.add_row(status, finding.check, escape(finding.detail) + fix)
    data_console().print(table)
