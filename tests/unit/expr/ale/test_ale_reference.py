"""Every example of `docs/reference/ale.md` gives what the page says, and the page leaves no name out."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from penstock.expr.ale import compile_ale
from penstock.expr.ale.library import LIBRARY
from penstock.expr.ale.special import FORMS
from penstock.expr.errors import EvaluationError

PAGE = (Path(__file__).parents[4] / "docs" / "reference" / "ale.md").read_text()
_SAMPLE = re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)
assert _SAMPLE is not None
ARGUMENTS = json.loads(_SAMPLE.group(1))
ROWS = re.findall(r"^\| (.+) \| `(.+)` \| `(.+)` \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("source", "expected"), [row[1:] for row in ROWS], ids=[row[1] for row in ROWS])
def test_an_example_gives_what_the_page_says(source: str, expected: str) -> None:
    program = compile_ale(source, list(ARGUMENTS))
    if expected == "error":
        with pytest.raises(EvaluationError):
            program.run(ARGUMENTS)
    else:
        result = program.run(ARGUMENTS)
        assert result == json.loads(expected)
        assert json.dumps(result) == json.dumps(json.loads(expected))


@pytest.mark.parametrize("name", sorted({*LIBRARY, *FORMS}))
def test_every_name_has_an_example_of_its_own(name: str) -> None:
    opposite = name.startswith("!") and name.endswith("?")
    assert any(
        f"`{name.removeprefix('!') if opposite else name}`" in titles and (opposite or name in source)
        for titles, source, _ in ROWS
    )
