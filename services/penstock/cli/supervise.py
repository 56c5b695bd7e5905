"""The life of `penstock dev`: start the children, keep `stack.json` true, stop on a signal."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path

from penstock.cli.assembly import Assembly
from penstock.cli.terminal import Terminal
from penstock.embedded import stack as stack_file
from penstock.embedded.stack import Stack
from penstock.embedded.supervisor import Report, Supervisor

_STOP = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_GRACE = 25.0
"""More than a service takes to finish what is in flight."""


async def supervise(assembly: Assembly, data: Path, terminal: Terminal, announce: Callable[[Stack], None]) -> None:
    """Until told to stop. A second signal loses patience with children that take their time."""
    asked = asyncio.Event()

    def on_change(report: Report) -> None:
        assembly.stack(supervisor.reports).save(data)
        if not asked.is_set():
            terminal.change(report)

    def on_signal() -> None:
        if asked.is_set():
            supervisor.hurry()
        asked.set()

    supervisor = Supervisor(assembly.children, on_line=terminal.line, on_change=on_change, grace=_GRACE)
    detached = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN  # nohup: the terminal may go, we stay
    for number in _STOP[:-1] if detached else _STOP:
        asyncio.get_running_loop().add_signal_handler(number, on_signal)
    starting = asyncio.create_task(supervisor.start())
    stopping = asyncio.create_task(asked.wait())
    try:
        await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            starting.result()
            announce(assembly.stack(supervisor.reports))
        await stopping
        terminal.say("stopping")
    finally:
        starting.cancel()
        await supervisor.stop()
        stack_file.remove(data)
        terminal.close()
