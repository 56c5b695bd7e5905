"""What may enter a sandbox."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from penstock.core.model.evaluate import Json
from penstock.expr.errors import EvaluationError, LimitExceeded
from penstock.expr.script.arguments import encode, pack
from penstock.expr.script.result import MAX_BYTES

Enter = Callable[[str, list[Json]], bytes]
both = pytest.mark.parametrize("enter", [encode, pack])


@both
@pytest.mark.parametrize("value", [object(), {"a": [object()]}, "\ud800"], ids=["object", "nested", "surrogate"])
def test_an_argument_that_is_not_json_is_an_error(enter: Enter, value: Json) -> None:
    with pytest.raises(EvaluationError):
        enter("lua", [value])


@both
@pytest.mark.parametrize(
    ("most", "more"),
    [
        pytest.param("x" * (MAX_BYTES - 4), "x" * (MAX_BYTES - 3), id="text"),
        pytest.param([False] * (MAX_BYTES // 6 - 1), [False] * (MAX_BYTES // 6 + 1), id="much shorter when packed"),
        pytest.param([0.5] * (MAX_BYTES // 4 - 1), [0.5] * (MAX_BYTES // 4 + 1), id="longer when packed"),
    ],
)
def test_size_is_that_of_the_json_text(enter: Enter, most: Json, more: Json) -> None:
    enter("lua", [most])
    with pytest.raises(LimitExceeded):
        enter("lua", [more])


def test_members_of_an_object_are_packed_on_their_own() -> None:
    packed = pack("lua", [{"name": "ada", "orders": [1, 2], "none": []}])
    assert msgspec.msgpack.decode(packed) == {
        "name": "ada",
        "orders": msgspec.msgpack.encode([1, 2]),
        "none": [],
    }


def test_what_may_hold_an_integer_too_large_is_packed_in_the_open() -> None:
    for value in ({"a": [2**63]}, {"a": ["π"]}):
        assert msgspec.msgpack.decode(pack("lua", [value])) == value


def test_an_integer_that_cannot_be_packed_is_an_error() -> None:
    with pytest.raises(EvaluationError):
        pack("lua", [{"a": [2**64]}])
