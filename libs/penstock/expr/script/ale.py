"""Ale in this process: pure and counted in steps, so that it needs no sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import lru_cache, partial

from penstock.core.model.evaluate import Json
from penstock.expr.ale import Limits, compile_ale
from penstock.expr.script.language import Script

# A decision compiles on the event loop, and a thread would share the interpreter with it: 16 KiB take about 35 ms.
_LIMITS = Limits(source_bytes=16 * 1024)
_AT_ONCE = 2048
_compile = lru_cache(1024)(partial(compile_ale, limits=_LIMITS))


class Ale:
    async def check(self, script: Script) -> None:
        if len(script.source) > _AT_ONCE:
            await asyncio.to_thread(_compile, script.source, script.arguments)
        else:
            _compile(script.source, script.arguments)

    async def run(self, script: Script, values: Mapping[str, Json]) -> Json:
        return self.run_now(script, values)

    async def test(self, script: Script, values: Mapping[str, Json]) -> bool:
        return self.test_now(script, values)

    def run_now(self, script: Script, values: Mapping[str, Json]) -> Json:
        return _compile(script.source, script.arguments).run(values)

    def test_now(self, script: Script, values: Mapping[str, Json]) -> bool:
        return _compile(script.source, script.arguments).test(values)

    async def close(self) -> None:
        pass
