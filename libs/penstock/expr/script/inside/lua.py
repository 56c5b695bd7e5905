"""Lua in a sandbox process: one Lua state, the scripts it compiled, and the way in and out.

There is no instruction hook: `pcall` loops, coroutines and C patterns defeat it. The parent's clock stops a run.
"""

from __future__ import annotations

import ctypes
from typing import Any

from lupa.lua54 import LuaError, LuaRuntime  # type: ignore[import-untyped]  # it has no stubs

from penstock.expr.script.inside.loop import Fault

_CACHED = 1024
_KEPT_BYTES = 4 << 20
_MIB = 1 << 20


class Lua:
    """The state is replaced when a run left it large or in doubt."""

    def __init__(self) -> None:
        self._trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        self._sources = [_read("arguments.lua"), _read("sandbox.lua")]
        self._start()

    def _start(self) -> None:
        self._lua = LuaRuntime(
            register_eval=False, register_builtins=False, attribute_filter=_refuse, max_memory=1 << 40
        )
        arguments, sandbox = self._sources
        self._compile, self._run, self._test = self._lua.execute(sandbox, *self._lua.execute(arguments))
        self._chunks: dict[bytes, Any] = {}
        self._doubtful = False

    def check(self, source: bytes) -> None:
        self._chunk(source)

    def run(self, source: bytes, values: bytes, max_memory_mb: int) -> str:
        text: str = self._execute(self._run, source, values, max_memory_mb)
        return text

    def test(self, source: bytes, values: bytes, max_memory_mb: int) -> bool:
        return bool(self._execute(self._test, source, values, max_memory_mb))

    def tidy(self) -> None:
        if self._doubtful or self._lua.get_memory_used() > _KEPT_BYTES:
            self._chunks.clear()
            del self._lua, self._compile, self._run, self._test
            if self._trim:
                self._trim(0)
            self._start()

    def _chunk(self, source: bytes) -> Any:  # noqa: ANN401 - a Lua function
        chunk = self._chunks.pop(source, None)
        if chunk is None:
            chunk = self._compile(source)
            if isinstance(chunk, tuple):
                raise _fault("compile", str(chunk[1]))
            if len(self._chunks) >= _CACHED:
                del self._chunks[next(iter(self._chunks))]
        self._chunks[source] = chunk  # the most recently used comes last
        return chunk

    def _execute(self, entry: Any, source: bytes, values: bytes, max_memory_mb: int) -> Any:  # noqa: ANN401 - Lua's
        self._lua.set_max_memory(self._lua.get_memory_used() + max_memory_mb * _MIB)
        try:
            succeeded, result = entry(self._chunk(source), values)
        except LuaError as error:
            succeeded, result = False, str(error)
        except UnicodeDecodeError:
            raise Fault("error", "an error message that is not UTF-8") from None
        finally:
            self._lua.set_max_memory(0)
        if not succeeded:
            self._doubtful = True
            raise _fault("error", result)
        return result


def _read(name: str) -> str:
    with open(f"{__file__.removesuffix('lua.py')}{name}", encoding="utf-8") as file:  # noqa: PTH123 - pathlib costs memory
        return file.read()


def _refuse(_value: object, name: object, _setting: bool) -> str:
    raise AttributeError(name)


def _fault(kind: str, message: str) -> Fault:
    if message == "not enough memory":
        return Fault("limit", "memory")
    if message.startswith("limit: "):
        return Fault("limit", message.removeprefix("limit: "))
    where, _, reason = message.partition(": ")
    script, _, line = where.partition(":")
    if script == "script" and line.isdigit():
        return Fault(kind, reason, int(line))
    return Fault(kind, message)
