"""What may leave a sandbox."""

from __future__ import annotations

import pytest

from penstock.core.model.evaluate import Json
from penstock.expr.errors import EvaluationError, LimitExceeded
from penstock.expr.script.result import MAX_BYTES, MAX_DEPTH, decode, outputs


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": 1}, {"a": 1}),
        ({}, {}),
        ([1], {"result": [1]}),
        ("text", {"result": "text"}),
        (None, {"result": None}),
        (False, {"result": False}),
    ],
)
def test_an_object_names_its_outputs_and_anything_else_is_the_result(value: Json, expected: Json) -> None:
    assert outputs(value) == expected


@pytest.mark.parametrize("text", [b"", b"NaN", b"Infinity", b"1e999", b"{", b"'a'", b'"\xff"', b"{1: 2}"])
async def test_what_is_not_json_is_an_error(text: bytes) -> None:
    with pytest.raises(EvaluationError):
        await decode("lua", text)


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1, 10**300])
async def test_an_integer_that_cannot_be_stored_is_an_error(number: int) -> None:
    with pytest.raises(EvaluationError):
        await decode("python", b"[%d]" % number)


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63), 0])
async def test_an_integer_of_64_bits_passes(number: int) -> None:
    assert await decode("python", b"%d" % number) == number


async def test_nesting_is_bounded() -> None:
    await decode("lua", b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    for depth in (MAX_DEPTH + 1, 10_000):
        with pytest.raises(LimitExceeded):
            await decode("lua", b"[" * depth + b"]" * depth)


async def test_many_flat_containers_are_not_nesting() -> None:
    assert await decode("lua", b"[" + b"[]," * 1000 + b"[]]") == [[]] * 1001


async def test_size_is_bounded() -> None:
    text = b'"' + b"x" * (MAX_BYTES - 2) + b'"'
    assert len(await decode("lua", text)) == MAX_BYTES - 2
    with pytest.raises(LimitExceeded):
        await decode("lua", text + b" ")
