"""`python_sandbox`: a Python function decides. Checked here, run elsewhere.

Registration reads the code without running it; evaluation takes the verdict that the executor brought back.
"""

from __future__ import annotations

import ast
from hashlib import sha256
from typing import Final

from penstock.core.model.evaluate import Failure, Program, Variables, Verdicts
from penstock.expr.condition.base import CompiledCondition
from penstock.expr.errors import CompileError, EvaluationError, ExpressionTooComplex, Sandboxed

LANGUAGE: Final = "python_sandbox"
MAX_SOURCE: Final = 64 * 1024
TIMEOUT_MS: Final = 1_000
MAX_TIMEOUT_MS: Final = 30_000
MEMORY_MB: Final = 50
MAX_MEMORY_MB: Final = 512

_SIGNATURE: Final = "def evaluate(output, context)"


class PythonCondition(CompiledCondition):
    reads = frozenset({("output",), ("nodes",)})

    def __init__(self, code: str, *, timeout_ms: int, max_memory_mb: int) -> None:
        _check(code)
        digest = sha256(f"{timeout_ms} {max_memory_mb} {code}".encode()).hexdigest()
        self._program = Program(digest, code, timeout_ms, max_memory_mb)
        self.programs = (self._program,)

    def verdict(self, variables: Variables, verdicts: Verdicts) -> bool:  # noqa: ARG002 - one shape for all
        verdict = verdicts.get(self._program.id)
        if verdict is None:
            raise Sandboxed(language=LANGUAGE)
        if isinstance(verdict, Failure):
            raise EvaluationError(language=LANGUAGE, reason=verdict.message, cause=verdict.code)
        return verdict


def _check(code: str) -> None:
    if len(code) > MAX_SOURCE:
        limit = f"{MAX_SOURCE} characters"
        raise ExpressionTooComplex(language=LANGUAGE, reason="its source is too long", limit=limit)
    try:
        tree = ast.parse(code)
    except SyntaxError as error:
        raise _refused(error.lineno or 1, error.offset or 1, error.msg, "Python that parses") from None
    except (RecursionError, MemoryError, ValueError):
        limit = "the parser's"
        raise ExpressionTooComplex(language=LANGUAGE, reason="it nests too deeply", limit=limit) from None
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "evaluate"]
    if not functions:
        raise _refused(1, 1, "it defines no function `evaluate`", f"`{_SIGNATURE}`")
    function = functions[-1]
    arguments = function.args
    if len(arguments.posonlyargs + arguments.args) - len(arguments.defaults) > 2 or (  # noqa: PLR2004
        len(arguments.posonlyargs + arguments.args) < 2 and not arguments.vararg  # noqa: PLR2004
    ):
        raise _refused(
            function.lineno, function.col_offset + 1, "`evaluate` cannot take two arguments", f"`{_SIGNATURE}`"
        )


def _refused(line: int, column: int, reason: str, expected: str) -> CompileError:
    return CompileError(language=LANGUAGE, line=line, column=column, reason=reason, expected=expected)
