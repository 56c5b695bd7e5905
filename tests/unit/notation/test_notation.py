"""YAML and JSON text to plain data, with the place of every value."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.notation import NotationError, read_text


@pytest.mark.parametrize(
    ("text", "data"),
    [
        pytest.param('{"a": [1, -2.5e1, true, null, "x\\n\\u00e9"]}', {"a": [1, -25.0, True, None, "x\né"]}, id="JSON"),
        pytest.param('// first\n{"a": "//no", // yes\n "b": 1,}', {"a": "//no", "b": 1}, id="comments, a last comma"),
        pytest.param("on: error\nyes: no\n1: 2", {"on": "error", "yes": "no", "1": 2}, id="words are words, keys text"),
        pytest.param(
            "a: 2026-01-01\nb: 010\nc: 0x1f\nd: 1:30", {"a": "2026-01-01", "b": 10, "c": 31, "d": "1:30"}, id="1.2"
        ),
        pytest.param("a: '3'\nb: ~\nc: .5\nd: |\n  x\n", {"a": "3", "b": None, "c": 0.5, "d": "x\n"}, id="scalars"),
        pytest.param(
            "a: &x {k: 1, l: 2}\nb: {<<: *x, l: 3}", {"a": {"k": 1, "l": 2}, "b": {"k": 1, "l": 3}}, id="merge"
        ),
        pytest.param("", None, id="nothing"),
    ],
)
def test_text_is_read(text: str, data: Any) -> None:  # noqa: ANN401 - any JSON
    assert read_text(text).data == data


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        pytest.param('{"a": 1,\n "a": 2}', 2, 2, id="a key twice in JSON"),
        pytest.param("a: 1\na: 2", 2, 1, id="a key twice in YAML"),
        pytest.param('{"a": }', 1, 7, id="no value"),
        pytest.param('{"a": 1} x', 1, 10, id="something behind the end"),
        pytest.param('{"a": 01}', 1, 7, id="a leading zero"),
        pytest.param('{"a": "x', 1, 7, id="an open string"),
        pytest.param("{a: 1}", 1, 2, id="a bare key"),
        pytest.param("a: [1", 2, 1, id="an open list"),
        pytest.param("a: !!python/object:os.system x", 1, 4, id="a tag"),
        pytest.param("a: !mine x", 1, 4, id="a tag of one's own"),
        pytest.param("? [a]\n: b", 1, 3, id="a key that is no text"),
        pytest.param("a: 1e999", 1, 4, id="a number without end"),
    ],
)
def test_what_is_no_text_of_a_definition_is_refused_with_its_place(text: str, line: int, column: int) -> None:
    with pytest.raises(NotationError) as caught:
        read_text(text)
    assert (caught.value.attributes["line"], caught.value.attributes["column"]) == (line, column)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" * 100_000, id="deep JSON"),
        pytest.param("a: " + "{a: " * 2_000 + "}" * 2_000, id="deep YAML"),
        pytest.param(
            "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}, *a{n - 1}]\n" for n in range(1, 30)),
            id="anchors that multiply",
        ),
        pytest.param("x" * 5_000_000, id="long"),
    ],
)
def test_text_that_means_harm_is_refused(text: str) -> None:
    with pytest.raises(NotationError):
        read_text(text)


def test_every_value_has_its_place() -> None:
    places = read_text('{\n  "a": [1,\n    "x"]}').places
    assert places == {(): (1, 1), ("a",): (2, 8), ("a", 0): (2, 9), ("a", 1): (3, 6)}
    places = read_text("a:\n  - 1\n  - 'x'\n").places
    assert places == {(): (1, 1), ("a",): (2, 3), ("a", 0): (2, 5), ("a", 1): (3, 6)}
