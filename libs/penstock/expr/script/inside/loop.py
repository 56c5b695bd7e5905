"""The loop of a sandbox process: one request in, one answer out (see `frame`), over the socket on file descriptor 0."""

from __future__ import annotations

import json
import os
from typing import Protocol

from penstock.expr.script.inside.frame import LENGTH, REQUEST
from penstock.expr.script.inside.jail import Allowance, enter

_SOCKET = 0
encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


class Fault(Exception):
    """The script is at fault: `kind` is compile, error or limit."""

    def __init__(self, kind: str, reason: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(kind, reason, line, column)
        self.answer = {"kind": kind, "reason": reason[:2000], "line": line, "column": column}


class Engine(Protocol):
    def check(self, source: bytes) -> None: ...

    def run(self, source: bytes, values: bytes, max_memory_mb: int) -> str:
        """The result as JSON text."""

    def test(self, source: bytes, values: bytes, max_memory_mb: int) -> bool: ...

    def tidy(self) -> None:
        """Called after the answer is sent: give back memory."""


def serve(engine: Engine) -> None:
    allowance = Allowance()
    _send(b"v", encode(enter()))
    while True:
        request = _receive()
        operation, timeout_ms, max_memory_mb, size = REQUEST.unpack_from(request)
        allowance.grant(timeout_ms, max_memory_mb)
        end = REQUEST.size + size
        _send(*_answer(engine, operation, request[REQUEST.size : end], request[end:], max_memory_mb))
        engine.tidy()


def _answer(engine: Engine, operation: bytes, source: bytes, values: bytes, memory: int) -> tuple[bytes, str]:
    try:
        if operation == b"r":
            return b"v", engine.run(source, values, memory)
        if operation == b"t":
            return b"v", "true" if engine.test(source, values, memory) else "false"
        engine.check(source)
    except Fault as fault:
        return b"e", encode(fault.answer)
    except MemoryError:
        return b"e", encode(Fault("limit", "memory").answer)
    return b"v", "null"


def _receive() -> bytes:
    frame = _read()
    while len(frame) < LENGTH.size or len(frame) < LENGTH.size + LENGTH.unpack_from(frame)[0]:
        frame += _read()
    return frame[LENGTH.size :]


def _read() -> bytes:
    data = os.read(_SOCKET, 1 << 16)
    if not data:  # the parent is gone
        os._exit(0)
    return data


def _send(letter: bytes, text: str) -> None:
    body = letter + text.encode()
    frame = memoryview(LENGTH.pack(len(body)) + body)
    while frame:
        frame = frame[os.write(_SOCKET, frame) :]
