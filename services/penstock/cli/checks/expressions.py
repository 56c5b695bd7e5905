"""Which engine evaluates expressions here."""

from __future__ import annotations

import importlib

from penstock.cli.checks.finding import Finding, Patient, ok

_ENGINES = {"cel_expr_python": "fast", "celpy": "portable"}


async def check(patient: Patient) -> list[Finding]:  # noqa: ARG001 - the same everywhere
    return [engines([module for module in _ENGINES if _imports(module)])]


def engines(found: list[str]) -> Finding:
    if not found:
        return Finding("cel", "fail", "no engine", "`pip install 'penstock[server]'`, or `penstock[cel-fast]`.")
    return ok("cel", ", ".join(f"{module} ({_ENGINES[module]})" for module in found))


def _imports(module: str) -> bool:
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True
