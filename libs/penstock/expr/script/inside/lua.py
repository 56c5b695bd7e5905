"""Lua in a sandbox process: what a script sees, and how JSON and Lua values become each other.

Every run gets tables of its own; what is shared (functions, the string metatable) cannot be changed by a script.
There is no instruction hook: `pcall` loops, coroutines and C patterns defeat it. The parent's clock stops a run.
"""

from __future__ import annotations

import ctypes
from typing import Any

from lupa.lua54 import LuaError, LuaRuntime, lua_type

from penstock.expr.script.inside.loop import Fault

_CACHED = 1024
_MAX_DEPTH = 64
_MAX_NODES = 300_000
_KEPT_BYTES = 4 << 20
_MIB = 1 << 20

_SANDBOX = """
local array_mark = {__name = "array", __metatable = false}
local getmetatable, setmetatable, setupvalue = debug.getmetatable, setmetatable, debug.setupvalue
local next, type, rawget, error, pcall, load = next, type, rawget, error, pcall, load

getmetatable("").__metatable = false
string.dump = nil

local function array(items)
  return setmetatable(items or {}, array_mark)
end

-- A finalizer would run inside somebody else's script.
local function guarded_setmetatable(value, mark)
  if type(mark) == "table" and rawget(mark, "__gc") ~= nil then
    error("__gc is not available", 2)
  end
  return setmetatable(value, mark)
end

local functions = {
  assert = assert, error = error, getmetatable = _G.getmetatable, ipairs = ipairs, next = next, pairs = pairs,
  pcall = pcall, rawequal = rawequal, rawget = rawget, rawlen = rawlen, rawset = rawset, select = select,
  setmetatable = guarded_setmetatable, tonumber = tonumber, tostring = tostring, type = type, xpcall = xpcall,
  array = array, print = function() end, _VERSION = _VERSION,
}
local libraries = {string = string, table = table, math = math, utf8 = utf8, coroutine = coroutine}
local randomseed = math.randomseed

local function copy(from)
  local to = {}
  for key, value in next, from do to[key] = value end
  return to
end

local function fresh()
  local globals = copy(functions)
  for name, library in next, libraries do globals[name] = copy(library) end
  globals._G = globals
  randomseed()
  return globals
end

local function compile(source)
  return load(source, "=script", "t")
end

local function run(chunk, ...)
  setupvalue(chunk, 1, fresh())
  local ok, result = pcall(chunk, ...)
  return ok, result
end

local function test(chunk, ...)
  local ok, result = run(chunk, ...)
  if ok then result = result ~= nil and result ~= false end
  return ok, result
end

local function is_array(value)
  return getmetatable(value) == array_mark
end

for _, name in next, {"io", "os", "package", "require", "dofile", "loadfile", "python"} do _G[name] = nil end
return compile, run, test, array, is_array
"""


class Lua:
    """One Lua state, its compiled scripts by source, replaced when a run left it large or in doubt."""

    def __init__(self) -> None:
        self._trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        self._nodes = 0
        self._start()

    def _start(self) -> None:
        self._lua = LuaRuntime(
            register_eval=False, register_builtins=False, attribute_filter=_refuse, max_memory=1 << 40
        )
        self._compile, self._run, self._test, self._array, self._is_array = self._lua.execute(_SANDBOX)
        self._chunks: dict[str, Any] = {}
        self._doubtful = False

    def check(self, source: str) -> None:
        self._chunk(source)

    def run(self, source: str, values: list[Any], max_memory_mb: int) -> Any:  # noqa: ANN401 - any JSON
        return self._result(self._execute(self._run, source, values, max_memory_mb))

    def test(self, source: str, values: list[Any], max_memory_mb: int) -> bool:
        return bool(self._execute(self._test, source, values, max_memory_mb))

    def tidy(self) -> None:
        if self._doubtful or self._lua.get_memory_used() > _KEPT_BYTES:
            self._chunks.clear()
            del self._lua, self._compile, self._run, self._test, self._array, self._is_array
            if self._trim:
                self._trim(0)
            self._start()

    def _chunk(self, source: str) -> Any:  # noqa: ANN401 - a Lua function
        chunk = self._chunks.pop(source, None)
        if chunk is None:
            chunk = self._compile(source)
            if isinstance(chunk, tuple):
                raise _fault("compile", str(chunk[1]))
            if len(self._chunks) >= _CACHED:
                del self._chunks[next(iter(self._chunks))]
        self._chunks[source] = chunk  # the most recently used comes last
        return chunk

    def _execute(self, entry: Any, source: str, values: list[Any], max_memory_mb: int) -> Any:  # noqa: ANN401 - Lua's
        self._lua.set_max_memory(self._lua.get_memory_used() + max_memory_mb * _MIB)
        try:
            chunk = self._chunk(source)
            succeeded, result = entry(chunk, *map(self._argument, values))
        except LuaError as error:
            self._doubtful = True
            raise _fault("error", str(error)) from None
        except OverflowError:
            raise Fault("error", "an argument has an integer beyond 64 bits") from None
        except UnicodeDecodeError:
            raise Fault("error", "the result is not JSON: text that is not UTF-8") from None
        finally:
            self._lua.set_max_memory(0)
        if not succeeded:
            self._doubtful = True
            raise _fault("error", result if isinstance(result, str) else f"error object ({lua_type(result)})")
        return result

    def _argument(self, value: Any) -> Any:  # noqa: ANN401 - any JSON
        if isinstance(value, dict | list):
            return self._lua.table_from(self._with_arrays(value), recursive=True) if value else self._empty(value)
        return value

    def _with_arrays(self, value: Any) -> Any:  # noqa: ANN401 - any JSON
        """An empty list stays a list on its way back; every other is known by its keys."""
        if isinstance(value, dict):
            return {key: self._with_arrays(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._with_arrays(item) for item in value] if value else self._array()
        return value

    def _empty(self, value: dict[str, Any] | list[Any]) -> Any:  # noqa: ANN401 - a Lua table
        return self._array() if isinstance(value, list) else self._lua.table()

    def _result(self, value: Any) -> Any:  # noqa: ANN401 - any JSON
        self._nodes = 0
        try:
            return self._json(value, _MAX_DEPTH)
        except UnicodeDecodeError:
            raise Fault("error", "the result is not JSON: text that is not UTF-8") from None

    def _json(self, value: Any, depth: int) -> Any:  # noqa: ANN401 - any JSON
        if value is None or isinstance(value, str | bool | int | float):
            return value
        kind = lua_type(value)
        if kind != "table":
            raise Fault("error", f"the result is not JSON: a {kind or 'host object'}")
        if depth == 0:
            raise Fault("limit", "nesting")
        items = dict(value.items())
        self._nodes += len(items)
        if self._nodes > _MAX_NODES:
            raise Fault("limit", "result size")
        if not items:
            return [] if self._is_array(value) else {}
        if all(isinstance(key, str) for key in items):
            return {key: self._json(item, depth - 1) for key, item in items.items()}
        return self._list(items, depth)

    def _list(self, items: dict[Any, Any], depth: int) -> list[Any]:
        if not all(type(key) is int and key > 0 for key in items):
            raise Fault("error", "the result is not JSON: a table needs either names or 1, 2, 3 … as keys")
        length = max(items)
        if length > 2 * len(items) + 8:
            raise Fault("error", "the result is not JSON: a list with more holes than values")
        return [self._json(items.get(index), depth - 1) for index in range(1, length + 1)]


def _refuse(_value: object, name: object, _setting: bool) -> str:
    raise AttributeError(name)


def _fault(kind: str, message: str) -> Fault:
    if message == "not enough memory":
        return Fault("limit", "memory")
    where, _, reason = message.partition(": ")
    script, _, line = where.partition(":")
    if script == "script" and line.isdigit():
        return Fault(kind, reason, int(line))
    return Fault(kind, message)

