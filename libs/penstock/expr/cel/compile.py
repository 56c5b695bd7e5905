"""CEL source to an `Expression`: parse, check, hand to the engine in use; compiled once per source."""

from __future__ import annotations

from functools import cache, lru_cache
from importlib.util import find_spec
from typing import Final, Literal, TypeAlias

from penstock.core.model.evaluate import Path
from penstock.expr.cel.check import ROOTS, Checked
from penstock.expr.cel.cost import Cost
from penstock.expr.cel.expression import LOOP, Engine, Expression
from penstock.expr.cel.syntax import Index, Name, Node, Select, parse
from penstock.expr.cel.syntax import Literal as Constant

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
    run = load_engine(engine).compile(_rename_loop(source, checked.names), tree)
    names = frozenset(name.name for name in checked.names)
    cost = Cost(tree, frozenset(checked.inner_reads)) if checked.loops else None
    return Expression(run, names, frozenset(checked.reads), static_path(tree), cost)


def static_path(tree: Node) -> Path | None:
    """The fields from a variable down, if the tree is nothing else."""
    fields: list[str] = []
    while not isinstance(tree, Name):
        if isinstance(tree, Select):
            fields.append(tree.field)
        elif isinstance(tree, Index) and isinstance(tree.index, Constant) and isinstance(tree.index.value, str):
            fields.append(tree.index.value)
        else:
            return None
        tree = tree.operand
    if tree.name not in ROOTS:
        return None
    return ("nodes" if tree.name == "ctx" else tree.name, *reversed(fields))


def _rename_loop(source: str, names: list[Name]) -> str:
    for name in names:
        if name.name == "loop":
            source = source[: name.start] + LOOP + source[name.start + len(LOOP) :]
    return source
