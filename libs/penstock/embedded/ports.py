"""Free ports for servers that must keep theirs over restarts.

Taken below the range the kernel hands out for outgoing connections: a client that keeps dialling a dead
server from inside that range can be given the server's own port as its source, and then sits on it.
"""

from __future__ import annotations

import contextlib
import random
import socket

LOOPBACK = "127.0.0.1"
_RANGE = range(18_000, 32_000)
_ATTEMPTS = 200


def free_port() -> int:
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """Distinct ports, all bound at once before any is let go."""
    with contextlib.ExitStack() as held:
        return [held.enter_context(_bound()).getsockname()[1] for _ in range(count)]


def is_free(port: int, host: str = LOOPBACK) -> bool:
    with _listener() as listener:
        try:
            listener.bind((host, port))
        except OSError:
            return False
        return True


def _bound() -> socket.socket:
    for port in random.sample(_RANGE, _ATTEMPTS):
        listener = _listener()
        try:
            listener.bind((LOOPBACK, port))
        except OSError:
            listener.close()
        else:
            return listener
    listener = _listener()
    listener.bind((LOOPBACK, 0))
    return listener


def _listener() -> socket.socket:
    """As servers bind: what lingers of closed connections does not count as taken."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return listener
