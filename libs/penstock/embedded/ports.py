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
    """Distinct ports, all held at once before any is let go."""
    with contextlib.ExitStack() as held:
        return [held.enter_context(_taken()).getsockname()[1] for _ in range(count)]


def is_free(port: int, host: str = LOOPBACK) -> bool:
    try:
        _listen(host, port).close()
    except OSError:
        return False
    return True


def _taken() -> socket.socket:
    for port in random.sample(_RANGE, _ATTEMPTS):
        with contextlib.suppress(OSError):
            return _listen(LOOPBACK, port)
    return _listen(LOOPBACK, 0)


def _listen(host: str, port: int) -> socket.socket:
    """As servers do: what lingers of closed connections does not count as taken.

    Binding alone would not hold a port: with the same option set, another could bind it too.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(1)
    except OSError:
        listener.close()
        raise
    return listener
