"""The loop of a sandbox process: one request in, one answer out, over the socket on file descriptor 0.

A frame is four bytes of length and that many bytes. A request is two JSON texts: what to do, and the list of
argument values. An answer is one letter and one JSON text: `v` a value, `e` an error as
`{"kind", "reason", "line", "column"}`. Only text crosses the border: whatever a script makes of this process,
its parent has nothing to trust but a parser.
"""

from __future__ import annotations

import json
import os
from typing import Any, Protocol

from penstock.expr.script.inside.jail import Allowance, enter

_SOCKET = 0
_HEADER = 4
encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
_decoder = json.JSONDecoder()


def decode(text: str) -> Any:  # noqa: ANN401 - any JSON
    return _decoder.raw_decode(text)[0]


class Fault(Exception):
    """The script is at fault: `kind` is compile, error or limit."""

    def __init__(self, kind: str, reason: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(kind, reason, line, column)
        self.answer = {"kind": kind, "reason": reason[:2000], "line": line, "column": column}


class Engine(Protocol):
    def check(self, source: str) -> None: ...

    def run(self, source: str, values: str, max_memory_mb: int) -> str:
        """From the arguments as JSON text to the result as JSON text."""

    def test(self, source: str, values: str, max_memory_mb: int) -> bool: ...

    def tidy(self) -> None:
        """Called after the answer is sent: give back memory."""


def serve(engine: Engine) -> None:
    allowance = Allowance()
    _send(b"v", encode(enter()))
    while True:
        request = _receive()
        (operation, source, timeout_ms, max_memory_mb), end = _decoder.raw_decode(request)
        allowance.grant(timeout_ms, max_memory_mb)
        _send(*_answer(engine, operation, source, request[end:], max_memory_mb))
        engine.tidy()


def _answer(engine: Engine, operation: str, source: str, values: str, memory: int) -> tuple[bytes, str]:
    try:
        if operation == "run":
            return b"v", engine.run(source, values, memory)
        if operation == "test":
            return b"v", "true" if engine.test(source, values, memory) else "false"
        engine.check(source)
    except Fault as fault:
        return b"e", encode(fault.answer)
    except MemoryError:
        return b"e", encode(Fault("limit", "memory").answer)
    return b"v", "null"


def _receive() -> str:
    frame = _read()
    while len(frame) < _HEADER + int.from_bytes(frame[:_HEADER], "little"):
        frame += _read()
    return frame[_HEADER:].decode()


def _read() -> bytes:
    data = os.read(_SOCKET, 1 << 16)
    if not data:  # the parent is gone
        os._exit(0)
    return data


def _send(letter: bytes, text: str) -> None:
    body = letter + text.encode()
    frame = memoryview(len(body).to_bytes(_HEADER, "little") + body)
    while frame:
        frame = frame[os.write(_SOCKET, frame) :]
