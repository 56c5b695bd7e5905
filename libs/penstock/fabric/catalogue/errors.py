"""What the catalogue refuses, and which of the `eventsourcing` library's errors each of ours becomes.

FabricError
├── RecordConflict            the version is taken
├── TooManyEvents             more than one atomic batch can hold
└── CatalogueClosed           used after its factory was closed

Callers of the library catch its errors; ours stay reachable as `__cause__`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from eventsourcing.persistence import (
    DataError,
    IntegrityError,
    InterfaceError,
    OperationalError,
    PersistenceError,
)

from penstock.fabric.errors import FabricError, IllegalName, StorageFull, TooLarge, Unavailable, Undecodable


class RecordConflict(FabricError):
    """{originator} cannot get version {version}: it already ends at version {last}.

    Load it again and repeat the command.
    """

    code = "RECORD_CONFLICT"
    retryable = True


class TooManyEvents(FabricError):
    """{count} events were saved at once; at most {limit} can be written all or nothing.

    Save fewer aggregates or events together. Nothing was written.
    """

    code = "TOO_MANY_EVENTS"


class CatalogueClosed(FabricError):
    """The connection of application {application} is closed.

    Make a new application; a closed one stays closed.
    """

    code = "CATALOGUE_CLOSED"


_COUNTERPARTS: dict[type[FabricError], type[PersistenceError]] = {
    RecordConflict: IntegrityError,
    Unavailable: OperationalError,
    StorageFull: OperationalError,
    TooManyEvents: DataError,
    TooLarge: DataError,
    IllegalName: DataError,
    Undecodable: DataError,
}


@contextmanager
def in_library_words() -> Iterator[None]:
    """Let our errors leave this block as the library's."""
    try:
        yield
    except FabricError as error:
        raise _COUNTERPARTS.get(type(error), InterfaceError)(str(error)) from error
