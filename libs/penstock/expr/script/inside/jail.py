"""Gives up, for good, everything a process could hurt its host with.

The floor is what every system has: no new file descriptors (so no files and no sockets), no child processes,
no core dumps, a memory ceiling. Above it, where the kernel allows: another user, empty namespaces, an empty
root folder, no capabilities. Everything must be imported before: after `enter` nothing can be opened.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
_CLONE_NEWUTS, _CLONE_NEWIPC, _CLONE_NEWUSER, _CLONE_NEWNET = 0x04000000, 0x08000000, 0x10000000, 0x40000000
_CAPABILITY_VERSION_3 = 0x20080522
_NOBODY = 65534
_MIB = 1 << 20
_CEILING_MIB = 2048
# What the interpreter itself may grow by while it serves: arenas, the decoded request, the encoded result.
_HEADROOM_MIB = 24


def enter() -> list[str]:
    """Close the door. Returns which of the measures beyond the floor this system granted."""
    granted = [name for name, measure in _MEASURES if _granted(measure)]
    for limit in ("NOFILE", "NPROC", "FSIZE", "CORE", "MEMLOCK", "MSGQUEUE"):
        if hasattr(resource, f"RLIMIT_{limit}"):
            resource.setrlimit(getattr(resource, f"RLIMIT_{limit}"), (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_CEILING_MIB * _MIB, _CEILING_MIB * _MIB))
    return granted


class Allowance:
    """Sets the kernel's limits to one run: a second line behind the engine's own and the parent's clock."""

    def __init__(self) -> None:
        self._base = _address_space()
        self._memory_mb = 0
        self._until = 0.0

    def grant(self, timeout_ms: int, max_memory_mb: int) -> None:
        if max_memory_mb != self._memory_mb:
            self._memory_mb = max_memory_mb
            memory = min(self._base + (max_memory_mb + _HEADROOM_MIB) * _MIB, _CEILING_MIB * _MIB)
            resource.setrlimit(resource.RLIMIT_AS, (memory, _CEILING_MIB * _MIB))
        needed = time.process_time() + timeout_ms / 1000
        if not needed < self._until < needed + 2:
            self._until = int(needed) + 2
            resource.setrlimit(resource.RLIMIT_CPU, (self._until, resource.RLIM_INFINITY))


def _address_space() -> int:
    try:
        with open("/proc/self/statm", "rb") as statm:  # noqa: PTH123 - pathlib would double the imports
            return int(statm.read().split()[0]) * resource.getpagesize()
    except OSError:  # no Linux: a guess that no interpreter exceeds
        return 512 * _MIB


def _granted(measure: Callable[[], None]) -> bool:
    try:
        measure()
    except (OSError, AttributeError):
        return False
    return True


def _call(name: str, *arguments: object) -> None:
    if getattr(_libc, name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), name)


def _become_nobody() -> None:
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(_NOBODY)
        os.setuid(_NOBODY)


def _leave_namespaces() -> None:
    _call("unshare", _CLONE_NEWUSER | _CLONE_NEWNET | _CLONE_NEWIPC | _CLONE_NEWUTS)


def _leave_files() -> None:
    # A folder every Linux has and in which nothing can be read or made.
    os.chroot("/proc/self/fdinfo")
    os.chdir("/")


def _drop_capabilities() -> None:
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    _call("capset", header, (ctypes.c_uint32 * 6)())


def _never_gain_privileges() -> None:
    _call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def _die_with_parent() -> None:
    parent = os.getppid()
    _call("prctl", _PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        sys.exit(1)


_libc = ctypes.CDLL(None, use_errno=True)
# In this order: a change of user forgets the parent-death signal, and a new root needs the new namespace's powers.
_MEASURES: tuple[tuple[str, Callable[[], None]], ...] = (
    ("user", _become_nobody),
    ("namespaces", _leave_namespaces),
    ("root", _leave_files),
    ("capabilities", _drop_capabilities),
    ("privileges", _never_gain_privileges),
    ("parent", _die_with_parent),
)
