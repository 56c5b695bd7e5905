"""Patches of definitions: JSON Patch by id, what leads from one definition to another, and what changed."""

from penstock.core.definition.patch.apply import MAX_OPERATIONS, apply
from penstock.core.definition.patch.compatible import breaking_changes
from penstock.core.definition.patch.difference import diff
from penstock.core.definition.patch.errors import (
    PatchError,
    PatchMalformed,
    PatchPathInvalid,
    PatchTestFailed,
    PatchTooLarge,
)
from penstock.core.definition.patch.summary import Changed, Changes, Summary, summarize
from penstock.core.definition.patch.version import next_version

__all__ = [
    "MAX_OPERATIONS",
    "Changed",
    "Changes",
    "PatchError",
    "PatchMalformed",
    "PatchPathInvalid",
    "PatchTestFailed",
    "PatchTooLarge",
    "Summary",
    "apply",
    "breaking_changes",
    "diff",
    "next_version",
    "summarize",
]
