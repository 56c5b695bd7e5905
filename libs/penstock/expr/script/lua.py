"""Lua 5.4 by lupa, in sandbox processes: how a script is wrapped, and where its errors are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from penstock.core.model.evaluate import Json
from penstock.expr.errors import CompileError, EvaluationError, ExprError, LimitExceeded
from penstock.expr.script.arguments import pack
from penstock.expr.script.language import Script, check_source, compiling
from penstock.expr.script.pool import Complaint, Faulty, Operation, Pool, folder_of
from penstock.expr.script.sandbox import Recipe

_LANGUAGE = "lua"
_KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        "and break do else elseif end false for function goto if in local nil not or repeat return then true until "
        "while _ENV",
    )
)


class Lua:
    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._pool: Pool | None = None

    async def check(self, script: Script) -> None:
        with compiling(_LANGUAGE):
            await self._ask("check", script, {})

    async def run(self, script: Script, values: Mapping[str, Json]) -> Json:
        return await self._ask("run", script, values)

    async def test(self, script: Script, values: Mapping[str, Json]) -> bool:
        return bool(await self._ask("test", script, values))

    async def close(self) -> None:
        if self._pool:
            await self._pool.close()

    async def _ask(self, operation: Operation, script: Script, values: Mapping[str, Json]) -> Json:
        if self._pool is None:
            folder = folder_of(_LANGUAGE, "lupa")
            self._pool = Pool(Recipe(_LANGUAGE, "lua:Lua", (folder,)), self._processes)
        source = _wrap(script.source, script.arguments)
        packed = pack(_LANGUAGE, script.bind(values))
        try:
            return await self._pool.ask(operation, source, packed, script.limits)
        except Faulty as faulty:
            raise _error(faulty.complaint, script.source) from None


@lru_cache(1024)
def _wrap(source: str, arguments: tuple[str, ...]) -> str:
    """Arguments become locals on the user's own first line, so that lines stay what they are."""
    check_source(_LANGUAGE, source, arguments, _KEYWORDS)
    return f"local {', '.join(sorted(arguments))} = ...; {source}" if arguments else source


def _error(complaint: Complaint, source: str) -> ExprError:
    line, reason = complaint.line, complaint.reason
    match complaint.kind:
        case "compile":
            expected, found, near = reason.partition(" expected")
            return CompileError(
                language=_LANGUAGE,
                line=line or 1,
                column=_column(source, line or 1, near if found else reason),
                reason=reason,
                expected=expected if found else "valid Lua 5.4",
            )
        case "limit":
            return LimitExceeded(language=_LANGUAGE, limit=reason)
        case "error":
            where = f"line {line}: " if line else ""
            return EvaluationError(language=_LANGUAGE, reason=where + reason, line=line)


def _column(source: str, line: int, reason: str) -> int:
    """Lua names the token it stumbled over, not its column: the token's last place on that line, or the end."""
    lines = source.split("\n")
    text = lines[min(line, len(lines)) - 1]
    token = reason.partition(" near ")[2].strip("'")
    place = text.rfind(token) if token and token != "<eof>" else len(text)  # noqa: S105 - a token of Lua
    return max(place, 0) + 1
