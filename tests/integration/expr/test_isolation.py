"""Sandbox processes: what they may not do, and that one's death is nobody else's."""

from __future__ import annotations

import asyncio
import os
import resource
import select
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec
import pytest
import uvloop

from penstock.core.model.evaluate import Json
from penstock.expr.errors import EvaluationError, ExpressionTooComplex, LimitExceeded, SandboxUnavailable
from penstock.expr.script import Limits, Script, Scripts
from penstock.expr.script.language import Language
from penstock.expr.script.lua import Lua
from penstock.expr.script.pool import Pool
from penstock.expr.script.sandbox import Recipe

MIB = 1 << 20
ADD = Script("lua", "return a + 1", ("a",))
ENDLESS = Script("lua", "while true do end", (), Limits(timeout_ms=60_000))


@pytest.fixture
async def lua() -> AsyncIterator[Lua]:
    language = Lua(2)
    yield language
    await language.close()


def pool_of(language: Lua) -> Pool:
    assert language._pool is not None
    return language._pool


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - a pool has no event for this, and it takes milliseconds
        await asyncio.sleep(0)


async def wait_until_gone(pid: int) -> None:
    """Without sleeping: the kernel tells. The process may be somebody else's child."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        readable, _, _ = await asyncio.to_thread(select.select, [descriptor], [], [], 20)
    finally:
        os.close(descriptor)
    assert readable


PROBE = """
import json, os, socket, sys
from penstock.expr.script.inside import jail
jail.enter()
def attempt(action):
    try:
        action()
    except OSError as error:
        return type(error).__name__
    return "allowed"
print(json.dumps({
    "read": attempt(lambda: open(sys.argv[1])),
    "write": attempt(lambda: open("/tmp/penstock-escaped", "w")),
    "list": attempt(lambda: os.listdir("/")),
    "socket": attempt(socket.socket),
    "fork": attempt(os.fork),
    "pipe": attempt(os.pipe),
    "regain": attempt(lambda: os.setuid(0)) if os.getuid() else "PermissionError",
}))
"""


async def test_nothing_can_be_opened_or_started_in_the_jail(canary: Path) -> None:
    command = [sys.executable, "-c", PROBE, str(canary)]
    probe = await asyncio.to_thread(subprocess.run, command, capture_output=True, check=True)
    assert "allowed" not in msgspec.json.decode(probe.stdout).values()


async def test_no_process_is_started_before_it_is_needed_and_one_serves_many(lua: Lua) -> None:
    assert lua._pool is None
    for value in range(20):
        assert await lua.run(ADD, {"a": value}) == value + 1
    assert len(pool_of(lua).pids) == 1


async def test_no_more_processes_than_allowed_serve_any_number_of_callers(lua: Lua) -> None:
    results = await asyncio.gather(*(lua.run(ADD, {"a": value}) for value in range(50)))
    assert results == list(range(1, 51))
    assert len(pool_of(lua).pids) == 2


async def test_a_killed_sandbox_is_replaced_and_its_neighbour_does_not_notice(lua: Lua) -> None:
    stuck = asyncio.create_task(lua.run(Script("lua", "while true do end", (), Limits(timeout_ms=300)), {}))
    await until(lambda: lua._pool is not None and len(lua._pool.pids) == 1)
    (first,) = pool_of(lua).pids
    served = 0
    while not stuck.done():
        assert await lua.run(ADD, {"a": served}) == served + 1
        served += 1
    with pytest.raises(LimitExceeded):
        await stuck
    assert served > 1
    assert first not in pool_of(lua).pids
    assert await asyncio.gather(*(lua.run(ADD, {"a": value}) for value in range(4))) == [1, 2, 3, 4]


async def test_a_sandbox_killed_from_outside_while_idle_is_replaced(lua: Lua) -> None:
    await lua.run(ADD, {"a": 1})
    (pid,) = pool_of(lua).pids
    os.kill(pid, signal.SIGKILL)
    await until(lambda: not pool_of(lua).pids)
    assert await lua.run(ADD, {"a": 1}) == 2


async def test_a_sandbox_killed_from_outside_while_busy_fails_only_its_caller(lua: Lua) -> None:
    stuck = asyncio.create_task(lua.run(ENDLESS, {}))
    await until(lambda: lua._pool is not None and len(lua._pool.pids) == 1)
    os.kill(pool_of(lua).pids[0], signal.SIGSEGV)
    with pytest.raises(EvaluationError):
        await stuck
    assert await lua.run(ADD, {"a": 1}) == 2


async def test_a_cancelled_caller_takes_its_sandbox_along(lua: Lua) -> None:
    await lua.run(ADD, {"a": 1})
    (pid,) = pool_of(lua).pids
    stuck = asyncio.create_task(lua.run(ENDLESS, {}))
    await asyncio.sleep(0)
    stuck.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stuck
    await wait_until_gone(pid)
    assert await lua.run(ADD, {"a": 1}) == 2


async def test_closing_ends_running_scripts_and_leaves_no_process() -> None:
    lua = Lua(2)
    await lua.run(ADD, {"a": 1})
    pids = pool_of(lua).pids
    stuck = asyncio.create_task(lua.run(ENDLESS, {}))
    await asyncio.sleep(0)
    await lua.close()
    with pytest.raises(SandboxUnavailable):
        await stuck
    for pid in pids:
        await wait_until_gone(pid)
    with pytest.raises(SandboxUnavailable):
        await lua.run(ADD, {"a": 1})


ORPHAN = """
import asyncio
from penstock.expr.script.language import Limits, Script
from penstock.expr.script.lua import Lua

async def main():
    lua = Lua(1)
    await lua.run(Script("lua", "return 1"), {})
    print(lua._pool.pids[0], flush=True)
    await lua.run(Script("lua", "while true do end", (), Limits(timeout_ms=60_000)), {})

asyncio.run(main())
"""


async def test_a_sandbox_dies_with_its_parent_even_in_the_middle_of_a_run() -> None:
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", ORPHAN, stdout=asyncio.subprocess.PIPE)
    assert parent.stdout is not None
    pid = int(await parent.stdout.readline())
    parent.kill()
    await parent.wait()
    await wait_until_gone(pid)


def resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()


async def test_an_idle_sandbox_is_small_even_after_a_large_run(lua: Lua) -> None:
    hungry = Script("lua", "local t = {} for i = 1, 4e5 do t[i] = 'x' .. i end return #t", (), Limits(10_000, 100))
    await lua.run(ADD, {"a": 1})
    (pid,) = pool_of(lua).pids
    assert resident(pid) < 15 * MIB
    assert await lua.run(hungry, {}) == 400_000
    await lua.run(ADD, {"a": 1})
    assert pool_of(lua).pids == [pid]
    assert resident(pid) < 15 * MIB


def limits_of(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
    return {line[:25].strip(): line[25:].split()[0] for line in lines}


async def test_the_kernel_bounds_a_sandbox_too(lua: Lua) -> None:
    await lua.run(ADD, {"a": 1})
    (pid,) = pool_of(lua).pids
    limits = limits_of(pid)
    for name in ("Max open files", "Max processes", "Max file size", "Max core file size"):
        assert limits[name] == "0"
    assert int(limits["Max address space"]) < 512 * MIB
    assert int(limits["Max cpu time"]) < 60


async def test_memory_is_bounded_per_script_not_per_process(lua: Lua) -> None:
    source = "local t = {} for i = 1, 2e5 do t[i] = 'x' .. i end return #t"
    with pytest.raises(LimitExceeded) as caught:
        await lua.run(Script("lua", source, (), Limits(10_000, 4)), {})
    assert caught.value.attributes["limit"] == "memory"
    assert await lua.run(Script("lua", source, (), Limits(10_000, 50)), {}) == 200_000


@pytest.mark.parametrize("engine", ["lua:Missing", "missing:Lua"])
async def test_a_sandbox_that_cannot_start_is_a_typed_error(engine: str) -> None:
    pool = Pool(Recipe("lua", engine, ()), 1)
    with pytest.raises(SandboxUnavailable):
        await pool.ask("run", "return 1", b"", Limits())
    await pool.close()


async def test_what_cannot_be_compiled_in_time_is_too_complex(restricted: Scripts) -> None:
    with pytest.raises(ExpressionTooComplex):
        await restricted.check_python("while True: pass", timeout_ms=100)


def test_it_works_on_uvloop_too() -> None:
    async def main() -> Json:
        async with Scripts(processes=1) as scripts:
            with pytest.raises(LimitExceeded):
                await scripts.run(Script("lua", "while true do end", (), Limits(timeout_ms=50)), {})
            return await scripts.run(ADD, {"a": 1}), await scripts.run(Script("python", "return 1"), {})

    assert uvloop.run(main()) == ({"result": 2}, {"result": 1})


LEAKS = {
    "global": ("leak = 1", "return leak"),
    "library": ("string.leak = 1", "return string.leak"),
    "method": ("string.leak = 1", "return ('').leak"),
    "replaced function": ("pairs = nil; table.concat = nil", "return (pairs and table.concat) == nil or nil"),
    "random": (
        "math.randomseed(42)",
        "local n = math.random(1 << 40); math.randomseed(42); return n == math.random(1 << 40) or nil",
    ),
}


@pytest.mark.parametrize(("leave", "look"), LEAKS.values(), ids=LEAKS)
async def test_nothing_leaks_from_one_run_into_the_next(lua: Lua, leave: str, look: str) -> None:
    language: Language = lua
    await language.run(Script("lua", leave), {})
    assert await language.run(Script("lua", look), {}) is None
    assert len(pool_of(lua).pids) == 1


@pytest.mark.parametrize(("language", "source"), [("lua", "return a ~= nil"), ("python", "return a")])
@pytest.mark.parametrize("depth", [10, 140, 160, 300])
async def test_arguments_may_be_nested_deeper_than_results(language: str, source: str, depth: int) -> None:
    value: Json = 1
    for _ in range(depth):
        value = [value]
    async with Scripts(processes=1) as scripts:
        assert await scripts.test(Script(language, source, ("a",)), {"a": value})
        assert await scripts.test(Script(language, source, ("a",)), {"a": {"x": value}})
