"""Why a patch cannot be applied to a definition.

PatchError
├── PatchMalformed      no JSON Patch operation
├── PatchPathInvalid    it points to nothing, or to what cannot be there
├── PatchTestFailed     a `test` found something else
└── PatchTooLarge
"""

from __future__ import annotations

from penstock.core.definition.problem import DefinitionError


class PatchError(DefinitionError):
    """Operation {index} of the patch cannot be applied."""

    code = "PATCH"


class PatchMalformed(PatchError):
    """Operation {index} of the patch is no JSON Patch operation: {reason}.

    RFC 6902 lists the operations and their members.
    """

    code = "PATCH_MALFORMED"


class PatchPathInvalid(PatchError):
    """Operation {index} of the patch ({op}) cannot use {path!r}: {reason}.

    A path is a JSON Pointer into the definition; nodes and transitions may be named by id instead of by index.
    """

    code = "PATCH_PATH_INVALID"


class PatchTestFailed(PatchError):
    """Operation {index} of the patch expects another value at {path!r}.

    The definition has changed since the patch was written: look at it again.
    """

    code = "PATCH_TEST_FAILED"


class PatchTooLarge(PatchError):
    """The patch is too large: {reason}.

    Split it, or register a new version.
    """

    code = "PATCH_TOO_LARGE"
