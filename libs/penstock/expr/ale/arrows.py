"""The arrows: a value sent through one form after the other.

A stage sees the value under a name no source can spell, so a long arrow is a flat row of bindings, not a deep nest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from penstock.expr.ale import nodes
from penstock.expr.ale.binding import store
from penstock.expr.ale.branching import takes
from penstock.expr.ale.faults import SourceError
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


def _stages(form: ListForm, scope: Scope, place: _Place) -> tuple[list[Code], int]:
    """The code of each stage, storing where the next one looks; and the slot of the last."""
    value, *stages = takes(form, 1, None, f"`({_spelling(form)} value form …)`")
    inner = scope.inner()
    code = inner.compile(value)
    slot = inner.bind(_IT)
    stores = [store(slot, code)]
    for stage in stages:
        code = inner.compile(place(stage, Name(_IT, stage.at)))
        slot = inner.bind(_IT)
        stores.append(store(slot, code))
    return stores, slot


def _spelling(form: ListForm) -> str:
    head = form.items[0]
    return head.name if isinstance(head, Name) else ""


def _arrow(place: _Place) -> SpecialForm:
    def compile_arrow(form: ListForm, scope: Scope, _: bool) -> Code:
        stores, slot = _stages(form, scope, place)
        return nodes.sequence([*stores, nodes.variable(0, slot)])

    return compile_arrow


def _some_arrow(place: _Place) -> SpecialForm:
    """Stop at the first null."""

    def compile_arrow(form: ListForm, scope: Scope, _: bool) -> Code:
        stores, slot = _stages(form, scope, place)
        first = slot - len(stores) + 1

        def run(frame: Frame) -> Value:
            for at, code in enumerate(stores, first):
                code(frame)
                if frame[at] is None:
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
