"""Every example of docs/reference/scripts.md does what the page says, Python on both engines."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.core.errors import PenstockError
from penstock.expr.script import Limits, Script, Scripts

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAGE = Path(__file__).parents[3] / "docs/reference/scripts.md"
EXAMPLE = re.compile(r"^```(lua|ale|python)( condition)?\n(.*?)\n```\n```json\n(.*?)\n```", re.DOTALL | re.MULTILINE)
EXAMPLES = [
    pytest.param(language, bool(condition), source, msgspec.json.decode(outcome), id=f"{language}-{number}")
    for number, (language, condition, source, outcome) in enumerate(EXAMPLE.findall(PAGE.read_text()))
]
# The page speaks of the limits a script has; a test need not wait that long, except where a process must start.
LIMITS = Limits(timeout_ms=500, max_memory_mb=50)


@pytest.mark.parametrize(("language", "condition", "source", "outcome"), EXAMPLES)
async def test_the_example_does_what_the_page_says(
    python: Scripts, language: str, condition: bool, source: str, outcome: dict[str, Any]
) -> None:
    if language != "python" and python.python_engine != "monty":
        return
    expected = {name: outcome[name] for name in ("outputs", "verdict", "error", "line", "column") if name in outcome}
    found = await perform(python, language, condition, source, outcome)
    codes = expected.get("error")
    if isinstance(codes, list):  # the engines refuse it at different times
        assert found.pop("error") in codes
        del expected["error"]
    assert {name: found.get(name) for name in expected} == expected


async def perform(
    scripts: Scripts, language: str, condition: bool, source: str, outcome: dict[str, Any]
) -> dict[str, Any]:
    arguments = outcome["arguments"]
    names = {*arguments, *(["amount"] if "amount" in source else [])}
    script = Script(language, source, tuple(names), LIMITS)
    try:
        if condition:
            await scripts.check_python(source)
            return {"verdict": await scripts.evaluate_python(source, **arguments)}
        await scripts.check(script)
        if "verdict" in outcome:
            return {"verdict": await scripts.test(script, arguments)}
        return {"outputs": await scripts.run(script, arguments)}
    except PenstockError as error:
        return {**error.attributes, "error": error.code}


async def test_the_page_has_an_example_of_every_kind() -> None:
    assert {(example.values[0], example.values[1]) for example in EXAMPLES} == {
        ("lua", False),
        ("ale", False),
        ("python", False),
        ("python", True),
    }
