"""CEL source to an `Expression`: parse, check, hand to the engine in use; compiled once per source."""

from __future__ import annotations

from functools import cache, lru_cache
from importlib.util import find_spec
from typing import Final, Literal, TypeAlias

from penstock.expr.cel.check import ROOTS, Checked
from penstock.expr.cel.cost import Cost
from penstock.expr.cel.expression import Engine, Expression
from penstock.expr.cel.slots import Slots, static_path
from penstock.expr.cel.syntax import parse

EngineName: TypeAlias = Literal["cel-expr-python", "cel-python"]

CACHE: Final = 1024


def available_engine() -> EngineName:
    """The fast one where it is installed."""
    return "cel-expr-python" if find_spec("cel_expr_python") else "cel-python"


@cache
def load_engine(name: EngineName) -> Engine:
    """Imports are here because each engine is optional and slow to load."""
    if name == "cel-expr-python":
        from penstock.expr.cel.fast import FastEngine  # noqa: PLC0415 - fifty megabytes that may not be there

        return FastEngine()
    from penstock.expr.cel.portable import PortableEngine  # noqa: PLC0415 - half a second that may not be needed

    return PortableEngine()


@lru_cache(CACHE)
def compile_cel(source: str, engine: EngineName) -> Expression:
    tree = parse(source)
    checked = Checked(source, tree, ROOTS)
    cost = Cost(tree, frozenset(checked.reads), frozenset(checked.inner_reads)) if checked.loops else None
    slots = Slots(tree, ROOTS)
    run = load_engine(engine).compile(source, slots.tree)
    return Expression(run, slots, frozenset(checked.reads), static_path(tree), cost)
