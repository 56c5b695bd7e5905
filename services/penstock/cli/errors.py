"""What the command line refuses.

CliError
├── RoleUnknown
└── ResetDeclined
"""

from __future__ import annotations

from penstock.core.errors import PenstockError


class CliError(PenstockError):
    """The command cannot be run: {reason}."""

    code = "CLI"


class RoleUnknown(CliError):
    """There is no role {role}.

    Choose one of: {known}.
    """

    code = "CLI_ROLE_UNKNOWN"


class ResetDeclined(CliError):
    """{path} was not wiped.

    Answer yes, or pass `--yes` where nobody can be asked.
    """

    code = "CLI_RESET_DECLINED"
