"""The arrows: a value sent through one form after the other.

A stage sees the value under a name no source can spell, so a long arrow is a flat row of bindings, not a deep nest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from penstock.expr.ale.branching import takes
from penstock.expr.ale.scope import Scope, SpecialForm
from penstock.expr.ale.syntax import Form, ListForm, Name
from penstock.expr.ale.values import Code, Frame, Value

_IT = "the value in the arrow"  # with spaces: the reader cannot make such a name

_Place: TypeAlias = Callable[[Form, Name], ListForm]


def _first(stage: Form, it: Name) -> ListForm:
    match stage:
        case ListForm((head, *rest)):
            return ListForm((head, it, *rest), stage.at)
        case _:
            return ListForm((stage, it), stage.at)


def _last(stage: Form, it: Name) -> ListForm:
    match stage:
        case ListForm((_, *_) as items):
            return ListForm((*items, it), stage.at)
        case _:
            return ListForm((stage, it), stage.at)


def _stages(form: ListForm, scope: Scope, place: _Place) -> list[tuple[int, Code]]:
    """The code of each stage, and the slot where the next one looks for its value."""
    value, *stages = takes(form, 1, None, "`(-> value form …)`")
    inner = scope.inner()
    made = []
    for stage in (value, *(place(stage, Name(_IT, stage.at)) for stage in stages)):
        code = inner.compile(stage)
        made.append((inner.bind(_IT), code))
    return made


def _arrow(place: _Place) -> SpecialForm:
    def compile_arrow(form: ListForm, scope: Scope, _: bool) -> Code:
        stages = _stages(form, scope, place)

        def run(frame: Frame) -> Value:
            for slot, code in stages:
                frame[slot] = code(frame)
            return frame[slot]

        return run

    return compile_arrow


def _some_arrow(place: _Place) -> SpecialForm:
    """Stop at the first null."""

    def compile_arrow(form: ListForm, scope: Scope, _: bool) -> Code:
        stages = _stages(form, scope, place)

        def run(frame: Frame) -> Value:
            for slot, code in stages:
                frame[slot] = code(frame)
                if frame[slot] is None:
                    return None
            return frame[slot]

        return run

    return compile_arrow


FORMS: dict[str, SpecialForm] = {
    "->": _arrow(_first),
    "->>": _arrow(_last),
    "some->": _some_arrow(_first),
    "some->>": _some_arrow(_last),
}
