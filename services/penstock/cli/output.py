"""How the command speaks: data to stdout, talk to stderr, errors as `code: message` and what to do next."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from penstock.core.errors import PenstockError

if TYPE_CHECKING:
    from rich.console import Console

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_RETRY = 75
"""The `EX_TEMPFAIL` of sysexits: the same command may work later."""


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"


Output = Annotated[Format, typer.Option("-o", "--output", help="For people, or for programs.")]
ConfigFile = Annotated[Path | None, typer.Option("--config", help="A TOML file; else PENSTOCK_CONFIG.")]
DataFolder = Annotated[Path, typer.Option("--data-dir", help="The folder of `penstock dev`.")]


def data_console() -> Console:
    return _console(stderr=False)


def talk_console() -> Console:
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    from rich.console import Console  # noqa: PLC0415 - slow to import, and most commands fail or succeed without

    return Console(stderr=stderr, highlight=False, soft_wrap=True)


def print_json(value: Any) -> None:  # noqa: ANN401 - whatever msgspec encodes
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")
    sys.stdout.flush()


def print_error(error: Exception) -> int:
    """Say it; the exit code that goes with it."""
    known = isinstance(error, PenstockError)
    typer.secho(str(error) if known else f"INTERNAL: {type(error).__name__}: {error}", fg="red", err=True)
    hint = error.hint if isinstance(error, PenstockError) else "Run it again with `penstock --debug` for details."
    if hint:
        typer.echo(hint, err=True)
    return _exit_code(error)


def _exit_code(error: Exception) -> int:
    from penstock.kit.errors import ConfigError  # noqa: PLC0415 - only when something failed

    if isinstance(error, ConfigError):
        return EXIT_USAGE
    return EXIT_RETRY if isinstance(error, PenstockError) and error.retryable else EXIT_FAILED
