"""Ale: a Lisp for small scripts and predicates, interpreted here without access to anything but its arguments.

    reader   → compiler (scope, nodes, branching, binding, arrows) → program
    library  = arithmetic, predicates, text, sequences, walks, objects, functions
    limits   is paid by every call and every loop, so that a run always ends

A compatible subset of kode4food/ale in code of our own; `docs/reference/ale.md` lists what there is
and where it differs.
"""

from __future__ import annotations

from penstock.expr.ale.limits import DEFAULT, Limits
from penstock.expr.ale.program import AleProgram, compile_ale, is_object

__all__ = ["DEFAULT", "AleProgram", "Limits", "compile_ale", "is_object"]
