"""The expression engines behind the port that deciders are handed."""

from __future__ import annotations

from penstock.core.model.evaluate import Json
from penstock.expr.cel.compile import EngineName, available_engine, load_engine
from penstock.expr.condition.base import CompiledCondition
from penstock.expr.condition.compile import ConditionCompiler, LoadBlob, no_blobs
from penstock.expr.mapping.output import CompiledOutput
from penstock.expr.mapping.value import CompiledInput


class ExpressionEvaluator:
    """Implements `penstock.core.model.evaluate.Evaluator`.

    `engine` names the CEL engine to use; without it, the fastest that is installed. `load_blob` finds schemas and
    code that conditions only refer to.
    """

    def __init__(self, engine: EngineName | None = None, load_blob: LoadBlob = no_blobs) -> None:
        self._engine: EngineName = engine or available_engine()
        self._conditions = ConditionCompiler(self._engine, load_blob)

    @property
    def engine(self) -> str:
        return load_engine(self._engine).name

    def condition(self, source: Json) -> CompiledCondition:
        return self._conditions.compile(source)

    def input_mapping(self, source: Json) -> CompiledInput:
        return CompiledInput(source, self._engine)

    def output_mapping(self, source: Json) -> CompiledOutput:
        return CompiledOutput(source, self._engine)
