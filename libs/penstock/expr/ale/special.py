"""Every special form by name: what the compiler asks before it takes a list for a call."""

from __future__ import annotations

from penstock.expr.ale import arrows, binding, branching
from penstock.expr.ale.scope import SpecialForm

FORMS: dict[str, SpecialForm] = {**branching.FORMS, **binding.FORMS, **arrows.FORMS}
