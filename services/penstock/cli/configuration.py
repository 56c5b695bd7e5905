"""`penstock config`: what the settings are, and where each came from."""

from __future__ import annotations

import os

import typer

from penstock.cli.output import ConfigFile, Format, Output, data_console, print_json

app = typer.Typer(no_args_is_help=True, help="Look at the configuration.")


@app.callback()
def _group() -> None:
    """Look at the configuration."""


@app.command()
def show(
    config: ConfigFile = None,
    output: Output = Format.TABLE,
) -> None:
    """Print every setting with its value and source. Secrets are hidden."""
    from penstock.kit.config import load  # noqa: PLC0415 - keeps `penstock --help` quick

    settings = load(os.environ, config).settings()
    if output is Format.JSON:
        print_json([setting._asdict() for setting in settings])
        return
    from rich.table import Column, Table  # noqa: PLC0415 - slow to import

    table = Table(
        "setting", Column("value", overflow="fold"), Column("source", overflow="fold"), box=None, pad_edge=False
    )
    for key, value, source in settings:
        table.add_row(key, str(value), source, style=None if source == "default" else "bold")
    data_console().print(table)
