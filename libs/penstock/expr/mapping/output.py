"""Output mappings: what a completed node writes into its scope.

    {"total": "output.sum", "customer.tier": "output.tier"}
    {"set": {…}, "append": {"log": "output.line"}, "delete": ["draft"]}

Targets are paths in the scope; a leading `state.` is understood and dropped. All values are taken from the
variables as they were before the first write.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from penstock.core.model.evaluate import Change, Failure, Json, Path, Variables
from penstock.expr.cel.compile import EngineName
from penstock.expr.errors import ConditionInvalid
from penstock.expr.mapping.value import Value, ValueCompiler, attempt

_Write: TypeAlias = Literal["set", "append"]

_OPS: Final = frozenset({"set", "append", "delete"})
_SHAPE: Final = "fields with expressions, or `set` and `append` with such fields and `delete` with a list of paths"


class CompiledOutput:
    """Implements `penstock.core.model.evaluate.OutputMapping`."""

    def __init__(self, source: Json, engine: EngineName) -> None:
        compiler = ValueCompiler(engine, over_output=True)
        self._writes: list[tuple[_Write, Path, Value]] = []
        self._deletes: list[Path] = []
        self._compile(_by_op(source, compiler), compiler)
        compiler.finish()
        self.reads = frozenset(compiler.reads)

    def evaluate(self, variables: Variables) -> tuple[Change, ...] | Failure:
        changes: tuple[Change, ...] | Failure = attempt(
            lambda: (
                *(Change(op, path, value(variables)) for op, path, value in self._writes),
                *(Change("delete", path) for path in self._deletes),
            )
        )
        return changes

    def _compile(self, by_op: dict[str, Json], compiler: ValueCompiler) -> None:
        ops: tuple[_Write, ...] = ("set", "append")
        for op in ops:
            for target, source in by_op.get(op, {}).items():
                path = _target(target, compiler)
                self._writes.append((op, path, compiler.compile(source, target)))
        self._deletes.extend(_target(target, compiler) for target in by_op.get("delete", []))


def _by_op(source: Json, compiler: ValueCompiler) -> dict[str, Json]:
    if not isinstance(source, dict):
        compiler.refuse("", ConditionInvalid(language="output mapping", reason="it is no object", expected=_SHAPE))
        return {}
    if not source or not source.keys() <= _OPS:
        return {"set": source}
    deletes = source.get("delete", [])
    shaped = isinstance(deletes, list) and all(isinstance(target, str) for target in deletes)
    if not shaped or not all(isinstance(source.get(op, {}), dict) for op in ("set", "append")):
        compiler.refuse(
            "", ConditionInvalid(language="output mapping", reason="its parts are mixed up", expected=_SHAPE)
        )
        return {}
    return source


def _target(target: str, compiler: ValueCompiler) -> Path:
    path = tuple(target.removeprefix("state.").split("."))
    if not all(path):
        error = ConditionInvalid(
            language="output mapping", reason=f"`{target}` is no path", expected="like `order.total`"
        )
        compiler.refuse(target, error)
    return path
