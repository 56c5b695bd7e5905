"""Ale in this process: pure and counted in steps, so that it needs no sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from penstock.core.model.evaluate import Json
from penstock.expr.ale import compile_ale
from penstock.expr.script.language import Script

_compile = lru_cache(1024)(compile_ale)


class Ale:
    async def check(self, script: Script) -> None:
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
