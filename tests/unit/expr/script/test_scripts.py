"""The door: which languages there are, and which may be used inside a decision."""

from __future__ import annotations

import pytest

import penstock.expr.script
from penstock.expr.errors import CompileError, EvaluationError, LimitExceeded, SandboxUnavailable
from penstock.expr.script import Script, Scripts


def test_the_public_names_are_these() -> None:
    assert penstock.expr.script.__all__ == ["Limits", "Script", "Scripts"]


def test_only_ale_may_be_used_inside_a_decision() -> None:
    scripts = Scripts()
    assert [name for name in scripts.languages if scripts.is_pure(name)] == ["ale"]
    assert scripts.test_now(Script("ale", "(> amount 100)", ("amount",)), {"amount": 101})
    assert scripts.run_now(Script("ale", "{:a b}", ("b",)), {"b": 1}) == {"a": 1}
    for language in ("lua", "python"):
        with pytest.raises(CompileError):
            scripts.test_now(Script(language, "return true"), {})


async def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(CompileError):
        await Scripts().check(Script("basic", "10 GOTO 10"))


async def test_an_unknown_python_engine_is_refused() -> None:
    with pytest.raises(SandboxUnavailable):
        await Scripts(python="cpython").check(Script("python", "return 1"))


async def test_ale_is_checked_run_and_tested_like_the_others() -> None:
    async with Scripts() as scripts:
        script = Script("ale", "(+ a b)", ("b", "a"))
        await scripts.check(script)
        assert await scripts.run(script, {"a": 1, "b": 2}) == {"result": 3}
        assert await scripts.test(Script("ale", "0"), {})
        with pytest.raises(CompileError):
            await scripts.check(Script("ale", "(+ a"))
        with pytest.raises(EvaluationError):
            await scripts.run(Script("ale", "(+ a 1)", ("a",)), {"a": "x"})
        with pytest.raises(LimitExceeded):
            await scripts.run(Script("ale", "(range 0 10000000)"), {})
