"""`penstock serve ROLE`: one role in the foreground, as in production."""

from __future__ import annotations

import os
import runpy
from typing import Annotated

import typer

from penstock.cli.output import ConfigFile
from penstock.cli.roles import ROLES, find_role

_ROLES = "\n\n".join(f"{role.name}: {role.summary}." for role in ROLES)


def serve(
    role: Annotated[str, typer.Argument(help="Which role.", metavar="ROLE")],
    config: ConfigFile = None,
) -> None:
    module = find_role(role).module
    if config is not None:
        os.environ["PENSTOCK_CONFIG"] = str(config)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


serve.__doc__ = f"Run one role in the foreground; stop it with SIGTERM.\n\nRoles:\n\n{_ROLES}"
