"""Scripts and predicates in Lua, Ale and Python, isolated from the host that runs them.

scripts   the door: check, run, test
language  the port; lua, ale and python (monty, restricted) fill it
pool      lends sandbox processes; sandbox is one of them, inside is what runs in it
"""

from __future__ import annotations

from penstock.expr.script.language import Limits, Script
from penstock.expr.script.scripts import Scripts

__all__ = ["Limits", "Script", "Scripts"]
