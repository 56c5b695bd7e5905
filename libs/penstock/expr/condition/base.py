"""What all compiled conditions share: a verdict or a failure, never a guess."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Final

from penstock.core.model.evaluate import Failure, Path, Program, Variables, Verdicts
from penstock.expr.errors import ConditionInvalid, EvaluationError, LimitExceeded

NO_VERDICTS: Final[Verdicts] = {}


class CompiledCondition(ABC):
    """Implements `penstock.core.model.evaluate.Condition`."""

    reads: frozenset[Path]
    programs: tuple[Program, ...] = ()

    def evaluate(self, variables: Variables, verdicts: Verdicts = NO_VERDICTS) -> bool | Failure:
        try:
            return self.verdict(variables, verdicts)
        except EvaluationError as error:
            return Failure.of(error)
        except RecursionError:
            reason = "the data nests too deeply"
            return Failure.of(LimitExceeded(language="condition", limit="depth", reason=reason))

    @abstractmethod
    def verdict(self, variables: Variables, verdicts: Verdicts) -> bool:
        """Raises `EvaluationError`."""


class Fields:
    """A condition object's fields, taken one by one; what is left over or of the wrong type is refused."""

    def __init__(self, source: Mapping[str, object], what: str) -> None:
        self._left = dict(source)
        self._what = what

    def take(self, name: str, *types: type, expected: str) -> object:
        """A field that must be there."""
        if name not in self._left:
            raise self.invalid(f"it has no `{name}`", expected)
        return self.optional(name, *types, expected=expected)

    def optional(self, name: str, *types: type, expected: str, default: object = None) -> object:
        value = self._left.pop(name, default)
        wrong_bool = isinstance(value, bool) and bool not in types
        if value is not default and types and (wrong_bool or not isinstance(value, types)):
            raise self.invalid(f"its `{name}` is {value!r}", expected)
        return value

    def text(self, name: str, *, expected: str) -> str:
        value = self.take(name, str, expected=expected)
        return str(value)

    def has(self, name: str) -> bool:
        return name in self._left

    def finish(self) -> None:
        if self._left:
            raise self.invalid(f"it has no use for `{'`, `'.join(self._left)}`", "those fields to be left out")

    def invalid(self, reason: str, expected: str) -> ConditionInvalid:
        return ConditionInvalid(language=self._what, reason=reason, expected=expected)
