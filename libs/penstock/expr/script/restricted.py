"""Python by RestrictedPython: each run in a sandbox process of its own. The fallback for want of monty."""

from __future__ import annotations

from penstock.core.model.evaluate import Json
from penstock.expr.errors import ExprError, LimitExceeded
from penstock.expr.script.arguments import encode
from penstock.expr.script.language import Limits
from penstock.expr.script.pool import Complaint, Faulty, Operation, Pool, folder_of
from penstock.expr.script.python import LANGUAGE, Module
from penstock.expr.script.sandbox import Recipe


class Restricted:
    def __init__(self, processes: int) -> None:
        folder = folder_of(LANGUAGE, "RestrictedPython")
        self._pool = Pool(Recipe(LANGUAGE, "restricted:Restricted", (folder,)), processes, reuse=False)

    async def check(self, module: Module, limits: Limits) -> None:
        try:
            await self._ask("check", module, [], limits)
        except Faulty as faulty:
            complaint = faulty.complaint
            if complaint.kind == "limit":
                raise _error(complaint, module) from None
            raise module.compile_error(complaint.line, complaint.column, complaint.reason) from None

    async def run(self, module: Module, values: list[Json], limits: Limits) -> Json:
        return await self._ask("run", module, values, limits)

    async def test(self, module: Module, values: list[Json], limits: Limits) -> bool:
        return bool(await self._ask("test", module, values, limits))

    async def close(self) -> None:
        await self._pool.close()

    async def _ask(self, operation: Operation, module: Module, values: list[Json], limits: Limits) -> Json:
        try:
            return await self._pool.ask(operation, module.text, encode(LANGUAGE, values), limits)
        except Faulty as faulty:
            if operation == "check":
                raise
            raise _error(faulty.complaint, module) from None


def _error(complaint: Complaint, module: Module) -> ExprError:
    match complaint.kind:
        case "compile":
            return module.compile_error(complaint.line, complaint.column, complaint.reason)
        case "limit":
            return LimitExceeded(language=LANGUAGE, limit=complaint.reason)
        case "error":
            return module.evaluation_error(complaint.line, complaint.reason)
