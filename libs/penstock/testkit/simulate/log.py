"""The log of one run, in memory: it takes a commit only after the one that its writer knows as the last."""

from __future__ import annotations

from penstock.core.model.commit import EMPTY, Head, RunKey
from penstock.core.model.time import Instant
from penstock.core.model.upcast import decode_events
from penstock.core.turn.outputs import AppendCommit
from penstock.fabric.ports.log import Append, Logged, check_chain, logged
from penstock.testkit.simulate.record import Record

KEY = RunKey("acme", "r-1")


class Log:
    def __init__(self) -> None:
        self.entries: list[Logged] = []
        self.times: list[Instant] = []
        """When each was appended, by the only clock that is right."""
        self.record = Record()

    @property
    def head(self) -> Head:
        return self.entries[-1].head if self.entries else EMPTY

    def append(self, request: AppendCommit, now: Instant) -> Logged | None:
        """None: it has moved on. The record has what was appended."""
        if self.head.sequence != request.head.sequence:
            return None
        append = Append(
            KEY, request.id, request.head, request.at, request.events, request.causes, request.open, request.due
        )
        body, _ = append.encode()
        entry = logged(KEY, request.id, len(self.entries) + 1, body)
        self.entries.append(entry)
        self.times.append(now)
        self.record.fold(decode_events(entry.commit.events), entry.commit.at)
        return entry

    def after(self, head: Head, *, missing: int = 0) -> list[Logged]:
        """The commits after `head`, whose own must be there; read from a replica that lacks the last ones."""
        upto = len(self.entries) - missing
        return check_chain(KEY, self.entries[max(head.sequence - 1, 0) : upto], head)
