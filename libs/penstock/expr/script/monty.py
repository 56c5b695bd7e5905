"""Python by pydantic-monty: an interpreter of its own, with no host to reach, in its own pool of processes.

The blocking client is driven from a few threads, because the asyncio one (1.4.0) can abort the whole process at
exit once a worker was lost. Every call is bounded by the worker's clock and by the pool's watchdog behind it.
"""

from __future__ import annotations

import asyncio
from threading import Lock
from typing import Any

import pydantic_monty

from penstock.core.model.evaluate import Json
from penstock.expr.errors import EvaluationError, ExprError, LimitExceeded, SandboxUnavailable
from penstock.expr.script.arguments import encode
from penstock.expr.script.language import Limits
from penstock.expr.script.python import LANGUAGE, Module
from penstock.expr.script.result import MAX_BYTES, decode, deeper
from penstock.expr.script.threads import Threads

_WATCHDOG_SECONDS = 0.1
_MAX_PRINTED = 64 * 1024
_MIB = 1 << 20
# What leaves the sandbox is one string of bounded length, whatever a script did to the names used here: a format
# string gives text or fails, and text is cut by the interpreter.
_CHECK = "\nevaluate is None"
# Arguments go in as one text, which is cheaper than value by value, unless nested deeper than a text may be.
_TEXT_LEVELS = 150
_CALL = "evaluate(*(penstock_json.loads(penstock_values) if penstock_as_text else penstock_values))"
_RUN = f"""
import json as penstock_json
f"{{penstock_json.dumps({_CALL}, allow_nan=False)}}"[:{MAX_BYTES + 1}]"""
_TEST = f"""
import json as penstock_json
not not {_CALL}"""


class Monty:
    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._threads = Threads(processes, "monty")
        self._starting = Lock()
        self._pool: pydantic_monty.Monty | None = None

    async def check(self, module: Module, limits: Limits) -> None:
        try:
            await self._feed(module, _CHECK, {}, limits)
        except (LimitExceeded, SandboxUnavailable):
            raise
        except EvaluationError as error:
            raise module.compile_error(None, None, str(error.attributes["reason"])) from None

    async def run(self, module: Module, values: list[Json], limits: Limits) -> Json:
        text = await self._feed(module, _RUN, _inputs(values), limits)
        return await decode(LANGUAGE, str(text).encode(errors="surrogatepass"))

    async def test(self, module: Module, values: list[Json], limits: Limits) -> bool:
        return await self._feed(module, _TEST, _inputs(values), limits) is True

    async def close(self) -> None:
        await asyncio.to_thread(self._close)

    async def _feed(self, module: Module, last: str, inputs: dict[str, Any], limits: Limits) -> object:
        return await self._threads.call(self._feed_now, module, last, inputs, limits)

    def _feed_now(self, module: Module, last: str, inputs: dict[str, Any], limits: Limits) -> object:
        """In a session of its own: nothing of one run is left for the next."""
        session = self._start().checkout(
            limits={
                "max_feed_duration_secs": limits.timeout_ms / 1000,
                "max_memory": limits.max_memory_mb * _MIB,
                "max_suspensions": 1,
            },
            os_policy={"sleep": "zero"},
        )
        printed = pydantic_monty.CollectString(_MAX_PRINTED)
        try:
            with session:
                return session.feed_run(module.text + last, inputs=inputs, print_callback=printed)
        except pydantic_monty.MontyError as error:
            raise _translate(error, module) from None

    def _start(self) -> pydantic_monty.Monty:
        with self._starting:
            if self._pool is None:
                pool = pydantic_monty.Monty(max_processes=self._processes, feed_duration_limit_grace=_WATCHDOG_SECONDS)
                try:
                    self._pool = pool.__enter__()
                except (OSError, pydantic_monty.MontyError) as error:
                    raise SandboxUnavailable(language=LANGUAGE, reason=str(error)) from error
            return self._pool

    def _close(self) -> None:
        self._threads.close()
        if self._pool is not None:
            self._pool.__exit__(None, None, None)


def _inputs(values: list[Json]) -> dict[str, Any]:
    text = encode(LANGUAGE, values)
    as_text = not deeper(values, text, _TEXT_LEVELS)
    return {"penstock_values": text.decode() if as_text else values, "penstock_as_text": as_text}


def _translate(error: pydantic_monty.MontyError, module: Module) -> ExprError:
    match error:
        case pydantic_monty.MontySyntaxError():
            frame = next(iter(error.traceback()), None)
            reason = error.display("msg")
            return module.compile_error(frame and frame.line, frame and frame.column, reason)
        case pydantic_monty.MontyRuntimeError():
            frames = error.traceback()
            limit = _limit(error.exception(), raised_by_script=bool(frames))
            if limit:
                return LimitExceeded(language=LANGUAGE, limit=limit)
            return module.evaluation_error(frames[-1].line if frames else None, error.display("type-msg"))
        case pydantic_monty.MontyCrashedError(timed_out=True):
            return LimitExceeded(language=LANGUAGE, limit="time")
        case _:
            return EvaluationError(language=LANGUAGE, reason=str(error), line=None)


def _limit(exception: BaseException, *, raised_by_script: bool) -> str | None:
    match exception:
        case MemoryError():
            return "memory"
        case RecursionError():
            return "recursion"
        case TimeoutError() if not raised_by_script:
            return "time"
        case _:
            return None
