"""`penstock dev`: the whole stack on embedded servers, supervised, in one terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from penstock.cli.errors import ResetDeclined
from penstock.cli.output import ConfigFile, DataFolder, Format, Output, print_json
from penstock.cli.roles import ROLES, find_role

if TYPE_CHECKING:
    from penstock.cli.assembly import Wanted
    from penstock.embedded.datadir import DataDir

_Port = Annotated[int | None, typer.Option(min=1, max=65535, help="A free one unless given.")]


def dev(
    *,
    data_dir: DataFolder = Path(".penstock"),
    durability: Annotated[
        Literal["power", "process"],
        typer.Option(help="What an acknowledged write survives: a power cut, or only the end of a process."),
    ] = "power",
    nats: Annotated[str | None, typer.Option(metavar="URL", help="Use this NATS instead of a child.")] = None,
    postgres: Annotated[str | None, typer.Option(metavar="DSN", help="Use this Postgres instead of a child.")] = None,
    nats_port: _Port = None,
    postgres_port: _Port = None,
    grpc_port: _Port = None,
    http_port: _Port = None,
    without: Annotated[
        list[str] | None, typer.Option(metavar="ROLE", help="Leave a role out, to run it yourself.")
    ] = None,
    config: ConfigFile = None,
    reset: Annotated[bool, typer.Option("--reset", help="Wipe the data first.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before wiping.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show routine lines of servers too.")] = False,
    output: Output = Format.TABLE,
) -> None:
    """Run NATS, Postgres and the services here, and restart what dies. Ctrl-C stops everything."""
    from penstock.cli.assembly import Wanted  # noqa: PLC0415 - keeps `penstock --help` quick
    from penstock.embedded.datadir import DataDir  # noqa: PLC0415 - as above

    left_out = [find_role(name) for name in without or ()]
    ports = {
        "nats": nats_port,
        "postgres": postgres_port,
        "gateway.grpc_port": grpc_port,
        "gateway.http_port": http_port,
    }
    data = DataDir(data_dir)
    wanted = Wanted(
        data=data.path,
        durability=durability,
        roles=[role for role in ROLES if role not in left_out],
        nats=nats,
        postgres=postgres,
        ports={name: port for name, port in ports.items() if port is not None},
        config=config,
    )
    with data.hold():
        if reset:
            _reset(data, sure=yes)
        _run(wanted, verbose=verbose, output=output)


def _reset(data: DataDir, *, sure: bool) -> None:
    if not sure and not typer.confirm(f"Delete everything in {data.path}?", err=True):
        raise ResetDeclined(path=str(data.path))
    data.wipe()


def _run(wanted: Wanted, *, verbose: bool, output: Format) -> None:
    import asyncio  # noqa: PLC0415 - keeps `penstock --help` quick

    from penstock.cli.assembly import Assembly  # noqa: PLC0415 - as above
    from penstock.cli.supervise import supervise  # noqa: PLC0415 - as above
    from penstock.cli.terminal import Terminal  # noqa: PLC0415 - as above

    terminal = Terminal(wanted.data / "logs", verbose=verbose)
    announce = print_json if output is Format.JSON else terminal.show
    asyncio.run(supervise(Assembly(wanted), wanted.data, terminal, announce))
