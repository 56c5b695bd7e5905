"""Every builtin by name."""

from __future__ import annotations

from penstock.expr.ale import arithmetic, functions, objects, predicates, sequences, text, walks
from penstock.expr.ale.values import Builtin

LIBRARY: dict[str, Builtin] = {
    **arithmetic.FAMILY,
    **predicates.FAMILY,
    **text.FAMILY,
    **sequences.FAMILY,
    **walks.FAMILY,
    **objects.FAMILY,
    **functions.FAMILY,
}
