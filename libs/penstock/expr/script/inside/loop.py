"""The loop of a sandbox process: one request in, one answer out, over the socket on file descriptor 0.

A frame is four bytes of length and that many bytes of JSON. An answer starts with one letter more:
`v` a value, `e` an error as `{"kind", "reason", "line", "column"}`. JSON alone crosses the border: whatever a
script makes of this process, all it can hand to the parent is text.
"""

from __future__ import annotations

import json
import os
from typing import Any, Protocol

from penstock.expr.script.inside.jail import Allowance, enter

_SOCKET = 0
_MAX_RESULT = 1 << 20
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class Fault(Exception):  # noqa: N818 - an answer, not a failure of this process
    """The script is at fault: `kind` is compile, error or limit."""

    def __init__(self, kind: str, reason: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(kind, reason, line, column)
        self.answer = {"kind": kind, "reason": reason[:2000], "line": line, "column": column}


class Engine(Protocol):
    def check(self, source: str) -> None: ...

    def run(self, source: str, values: list[Any], max_memory_mb: int) -> Any: ...  # noqa: ANN401 - any JSON

    def test(self, source: str, values: list[Any], max_memory_mb: int) -> bool: ...

    def tidy(self) -> None:
        """Called after the answer is sent: give back memory."""


def serve(engine: Engine) -> None:
    allowance = Allowance()
    _send(b"v", _encode(enter()))
    while True:
        operation, source, values, timeout_ms, max_memory_mb = json.loads(_receive())
        allowance.grant(timeout_ms, max_memory_mb)
        _send(*_answer(engine, operation, source, values, max_memory_mb))
        engine.tidy()


def _answer(engine: Engine, operation: str, source: str, values: list[Any], memory: int) -> tuple[bytes, str]:
    try:
        if operation == "check":
            engine.check(source)
            return b"v", "null"
        if operation == "test":
            return b"v", _encode(engine.test(source, values, memory))
        text = _encode(engine.run(source, values, memory))
        if len(text) > _MAX_RESULT:
            raise Fault("limit", "result size")
    except Fault as fault:
        return b"e", _encode(fault.answer)
    except MemoryError:
        return b"e", _encode(Fault("limit", "memory").answer)
    except RecursionError:
        return b"e", _encode(Fault("limit", "nesting").answer)
    except (TypeError, ValueError) as error:  # what the encoder says of NaN, of cycles, of things that are no JSON
        return b"e", _encode(Fault("error", f"the result is not JSON: {error}").answer)
    return b"v", text


def _receive() -> bytes:
    size = int.from_bytes(_read(4), "little")
    return _read(size)


def _read(size: int) -> bytes:
    data = os.read(_SOCKET, size)
    while len(data) < size:
        more = os.read(_SOCKET, size - len(data))
        if not more:  # the parent is gone
            os._exit(0)
        data += more
    return data


def _send(letter: bytes, text: str) -> None:
    data = letter + text.encode("utf-8", "backslashreplace")
    data = len(data).to_bytes(4, "little") + data
    while data:
        data = data[os.write(_SOCKET, data) :]
