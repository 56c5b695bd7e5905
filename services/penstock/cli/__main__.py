"""The `penstock` command: its parts put together."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from penstock.cli import configuration, dev, doctor, expr, serve, simulate, versions, workflow
from penstock.cli.output import print_error


class _Commands(TyperGroup):
    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - typer keeps the types of its contexts to itself
        try:
            return super().invoke(ctx)
        except (typer.TyperException, typer.Exit, typer.Abort):
            raise
        except Exception as error:
            if ctx.params["debug"]:
                raise
            raise typer.Exit(print_error(error)) from error


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: a third of the time
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(versions.installed("penstock"))
        raise typer.Exit


@app.callback()
def penstock(
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback when something fails.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Durable workflows on NATS JetStream."""


app.command()(dev.dev)
app.command()(doctor.doctor)
app.command()(serve.serve)
app.command()(simulate.simulate)
app.command("version")(versions.show_version)
app.add_typer(configuration.app, name="config")
app.add_typer(expr.app, name="expr")
app.add_typer(workflow.app, name="workflow")


def main() -> None:
    app(prog_name="penstock")


if __name__ == "__main__":
    main()
