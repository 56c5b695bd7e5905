"""Arguments in Lua: read late, yet no script can tell them from tables that were always there."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from penstock.core.model.evaluate import Json
from penstock.expr.errors import EvaluationError, LimitExceeded
from penstock.expr.script import Limits, Script, Scripts

pytestmark = pytest.mark.asyncio(loop_scope="module")

A: dict[str, Json] = {"list": [1, 2, 3], "object": {"x": 1, "y": {"z": [True, None, "é"]}}, "none": [], "empty": {}}

# Each looks at members that no other line has touched yet.
LOOKS: dict[str, tuple[str, Json]] = {
    "field": ("return a.object.x", 1),
    "deep field": ("return a.object.y.z[3]", "é"),
    "missing field": ("return a.object.nothing == nil and a.list[4] == nil", True),
    "length": ("return #a.list", 3),
    "next": ("return next(a.list)", 1),
    "next by way of pairs": ("local step = pairs({}); return (step(a.list))", 1),
    "pairs": ("local n = 0; for _, v in pairs(a.list) do n = n + v end; return n", 6),
    "ipairs": ("local n = 0; for _, v in ipairs(a.list) do n = n + v end; return n", 6),
    "rawget": ("return rawget(a.object, 'x')", 1),
    "rawget through globals": ("return _G['raw' .. 'get'](a.object, 'x')", 1),
    "rawlen": ("return rawlen(a.list)", 3),
    "rawset": ("rawset(a.object, 'x', 2); return a.object", {"x": 2, "y": {"z": [True, None, "é"]}}),
    "raw after a touch elsewhere": ("local x = a.object.x; return rawlen(a.list) + x", 4),
    "rawequal": ("return rawequal(a.list, a.list) and a.list == a.list", True),
    "no metatable": ("return getmetatable(a.list) == nil and getmetatable(a.object) == nil", True),
    "a metatable of its own": ("return setmetatable(a.object, {__index = function() return 7 end}).q", 7),
    "as a metatable": ("return setmetatable({}, {__index = a.object}).x", 1),
    "unpack": ("return {table.unpack(a.list)}", [1, 2, 3]),
    "concat": ("return table.concat(a.list, '-')", "1-2-3"),
    "insert": ("table.insert(a.list, 4); return a.list", [1, 2, 3, 4]),
    "insert first": ("table.insert(a.list, 1, 0); return a.list", [0, 1, 2, 3]),
    "remove": ("return table.remove(a.list)", 3),
    "sort": ("table.sort(a.list, function(x, y) return x > y end); return a.list", [3, 2, 1]),
    "move": ("return table.move(a.list, 1, 3, 2, {9})", [9, 1, 2, 3]),
    "gsub": ("return (string.gsub('x', 'x', a.object))", "1"),
    "new field": ("a.object.w = 5; return a.object.w + a.object.x", 6),
    "replaced field": ("a.object.x = 5; return a.object.x", 5),
    "removed field": ("a.object.x = nil; return a.object", {"y": {"z": [True, None, "é"]}}),
    "appended": ("a.list[#a.list + 1] = 4; return a.list", [1, 2, 3, 4]),
    "array": ("return array(a.list)", [1, 2, 3]),
    "in a coroutine": ("return coroutine.wrap(function() return a.object.y.z[1] end)()", True),
    "printed": ("return tostring(a.list):match('^%a+')", "table"),
    "kind": ("return type(a.list)", "table"),
    "untouched": ("return a", A),
    "untouched inside": ("return {copy = a.list, one = 1}", {"copy": [1, 2, 3], "one": 1}),
    "empty ones": ("return {a.none, a.empty}", [[], {}]),
}


@pytest.mark.parametrize(("source", "expected"), LOOKS.values(), ids=LOOKS)
async def test_a_member_read_late_is_like_any_table(scripts: Scripts, source: str, expected: Json) -> None:
    value = await scripts.run(Script("lua", source, ("a",)), {"a": A})
    assert value == (expected if isinstance(expected, dict) else {"result": expected})


WRONGS = {
    "call": "a.list()",
    "arithmetic": "return a.list + 1",
    "concatenation": "return 'x' .. a.list",
    "comparison": "return a.list < a.object",
    "nil index": "a.list[nil] = 1",
    "NaN index": "a.list[0/0] = 1",
}


@pytest.mark.parametrize("source", WRONGS.values(), ids=WRONGS)
async def test_an_error_is_the_same_read_late_or_before(scripts: Scripts, source: str) -> None:
    errors = []
    for before in ("", "local _ = #a.list, #a.object;", "local _ = next;"):
        with pytest.raises(EvaluationError) as caught:
            await scripts.run(Script("lua", f"{before}\n{source}", ("a",)), {"a": A})
        errors.append(caught.value.attributes)
    assert errors[0]["line"] == 2
    assert errors[0] == errors[1] == errors[2]


async def test_for_want_of_memory_a_member_is_read_whole_or_not_at_all(scripts: Scripts) -> None:
    source = """
        local hoard = {}
        while pcall(function() hoard[#hoard + 1] = string.rep(#hoard, 1000) end) do end
        local early = pcall(function() return #a.big end)
        hoard = nil
        return {early = early, later = #a.big, last = a.big[#a.big]}"""
    script = Script("lua", source, ("a",), Limits(10_000, 4))
    big: list[Json] = [f"{number}" for number in range(20_000)]
    assert await scripts.run(script, {"a": {"big": big}}) == {"early": False, "later": 20_000, "last": "19999"}


async def test_memory_is_bounded_for_arguments_too(scripts: Scripts) -> None:
    script = Script("lua", "return #a.big", ("a",), Limits(10_000, 1))
    with pytest.raises(LimitExceeded):
        await scripts.run(script, {"a": {"big": [[] for _ in range(100_000)]}})


EDGES: list[Json] = [
    *(sign * 2**bits + more for bits in (7, 8, 15, 16, 31, 32, 62) for sign in (1, -1) for more in (-1, 0, 1)),
    *(
        2**63 - 1,
        -(2**63),
        0.1,
        -0.5,
        1e308,
        5e-324,
        3.0,
        True,
        False,
        "",
        "é",
        "\0",
        "€" * 20,
        "x" * 255,
        "x" * 70_000,
    ),
    *([[n] for n in range(20)], {f"k{n}": n for n in range(20)}, {"": 1}, [[]], {"a": {}}, list(range(70_000))),
    *({f"k{n}": n for n in range(70_000)}, ["x" * 31, "x" * 32, "x" * 256]),
]


async def test_every_kind_of_value_comes_back_as_it_went_in(scripts: Scripts) -> None:
    script = Script("lua", "return {a}", ("a",), Limits(10_000, 100))
    for value in EDGES:
        for given in (value, {"member": value}, [value]):
            outputs = await scripts.run(script, {"a": given})
            assert outputs == {"result": [given]}, str(given)[:80]


def random_json(random: Random, depth: int) -> Any:  # noqa: ANN401 - any JSON
    kind = random.randrange(7 if depth else 5)
    if kind == 5:
        return [random_json(random, depth - 1) for _ in range(random.randrange(1, 6))]
    if kind == 6:
        return {f"{random.random()}"[: random.randrange(1, 9)]: random_json(random, depth - 1) for _ in range(5)}
    number = random.randrange(-(2 ** random.randrange(64)), 2 ** random.randrange(64))
    return [number, random.uniform(-1e9, 1e9), random.random() < 0.5, "πx" * random.randrange(9), []][kind]


@pytest.mark.parametrize("seed", range(20))
async def test_any_value_comes_back_as_it_went_in(scripts: Scripts, seed: int) -> None:
    random = Random(seed)  # noqa: S311 - examples, not secrets
    value = {"a": random_json(random, 5), "b": [random_json(random, 5)]}
    assert await scripts.run(Script("lua", "return {v = a}", ("a",)), {"a": value}) == {"v": value}


async def test_null_is_nil_in_every_place(scripts: Scripts) -> None:
    source = "return {select('#', ...), a == nil, b.x == nil, b.l[2] == nil, b.l[3]}"
    values: dict[str, Json] = {"b": {"x": None, "l": [1, None, 3]}}
    assert await scripts.run(Script("lua", source, ("a", "b", "c")), values) == {"result": [3, True, True, True, 3]}


@pytest.mark.parametrize("value", [2**63, 2**64 - 1, 2**64, -(2**63) - 1])
@pytest.mark.parametrize("source", ["return 1", "return a.x"])
async def test_an_integer_beyond_64_bits_is_an_error_touched_or_not(scripts: Scripts, source: str, value: int) -> None:
    for given in (value, {"x": value}, {"x": {"y": [value]}}):
        with pytest.raises(EvaluationError):
            await scripts.run(Script("lua", source, ("a",)), {"a": given})


async def test_nothing_unread_is_left_for_the_next_run(scripts: Scripts) -> None:
    assert await scripts.run(Script("lua", "kept = a.secret", ("a",)), {"a": {"secret": [1, 2]}}) == {"result": None}
    assert await scripts.run(Script("lua", "return kept"), {}) == {"result": None}
