"""In which phase of a run it can be asked for what. Everything else about its life follows from events."""

from __future__ import annotations

from typing import Literal, TypeAlias

from penstock.core.graph.errors import IllegalTransition
from penstock.core.graph.state import State

Asked: TypeAlias = Literal["signalled", "cancelled", "stopped", "paused", "patched", "compensating"]

ALLOWED: dict[Asked, frozenset[str]] = {
    "signalled": frozenset({"open", "compensating"}),
    "cancelled": frozenset({"open"}),
    "stopped": frozenset({"open", "compensating"}),
    "paused": frozenset({"open"}),
    "patched": frozenset({"open"}),
    "compensating": frozenset({"open", "closed"}),
}
"""`stopped` is a cancel by force; what is to be undone has its outcome, and is undone when it is closed."""


def check_allowed(state: State, asked: Asked) -> None:
    if state.phase not in ALLOWED[asked]:
        raise IllegalTransition(what="the run", now=state.status, asked=asked)
