"""The unprivileged user that Postgres runs as when we are root.

Folders above the data or the binaries may be closed to that user (`/root`, a 0700 temporary folder). Opening
them would change what is not ours, so the child keeps one capability instead: to walk through folders.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import sys
from pathlib import Path

import msgspec

from penstock.embedded.errors import OutOfReach

_USERS = ("pgserver", "postgres", "nobody")
_PR_SET_KEEPCAPS = 8
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE = 47, 2
_CAPABILITY_VERSION_3 = 0x20080522
# The first that we hold: containers are usually given the stronger one only.
_CAP_DAC_READ_SEARCH, _CAP_DAC_OVERRIDE = 2, 1
_libc = ctypes.CDLL(None)


class Identity(msgspec.Struct, frozen=True):
    name: str
    uid: int
    gid: int
    capability: int | None = None
    """Kept when paths would be out of reach without it."""

    def assume(self) -> None:
        """In the child, between fork and exec."""
        os.setgroups([])
        os.setgid(self.gid)
        if self.capability is not None:
            _libc.prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0)
        os.setuid(self.uid)
        if self.capability is not None:
            _keep(self.capability)

    def reaches(self, path: Path) -> bool:
        """Whether every folder above `path` lets this user through."""
        return all(_may_enter(folder, self.uid, self.gid) for folder in path.resolve().parents)


def unprivileged(owner_of: Path, *paths: Path) -> Identity | None:
    """Who to run as: nobody special unless we are root; the owner of the data where it exists already."""
    if os.geteuid() != 0:
        return None
    identity = _owner(owner_of) or _first_user()
    closed = next((path for path in paths if not identity.reaches(path)), None)
    if closed is None:
        return identity
    capability = _held_capability()
    if capability is None:
        raise OutOfReach(user=identity.name, path=str(closed))
    return msgspec.structs.replace(identity, capability=capability)


def _owner(path: Path) -> Identity | None:
    try:
        found = path.stat()
        return Identity(pwd.getpwuid(found.st_uid).pw_name, found.st_uid, found.st_gid) if found.st_uid else None
    except (FileNotFoundError, KeyError):
        return None


def _first_user() -> Identity:
    by_name = {user.pw_name: user for user in pwd.getpwall()}
    user = next(by_name[name] for name in _USERS if name in by_name)
    return Identity(user.pw_name, user.pw_uid, user.pw_gid)


def _may_enter(folder: Path, uid: int, gid: int) -> bool:
    found = folder.stat()
    if found.st_uid == uid:
        return bool(found.st_mode & 0o100)
    return bool(found.st_mode & (0o010 if found.st_gid == gid else 0o001))


def _held_capability() -> int | None:
    if sys.platform != "linux":
        return None
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    permitted = int(status["CapPrm"], 16) & int(status["CapBnd"], 16)
    return next((cap for cap in (_CAP_DAC_READ_SEARCH, _CAP_DAC_OVERRIDE) if permitted & 1 << cap), None)


def _keep(capability: int) -> None:
    """Make it permitted, effective and inheritable, then ambient, so that it outlives exec."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    bit = 1 << capability
    sets = (ctypes.c_uint32 * 6)(bit, bit, bit, 0, 0, 0)
    if _libc.capset(header, sets) or _libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, capability, 0, 0):
        os._exit(126)
