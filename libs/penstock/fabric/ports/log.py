"""The log: each run's commits, in order, each the successor of the one before.

A writer names the head it builds on; if the log has moved on, nothing is written (`LogConflict`). Commits are
chained by digest, and whoever reads them checks the chain.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from penstock.core.model.commit import (
    EMPTY,
    FORMAT,
    Cause,
    Commit,
    Head,
    RunKey,
    decode_commit,
    digest,
    encode_commit,
)
from penstock.core.model.time import Instant
from penstock.fabric.errors import FabricError, LogBroken, Undecodable


class Append(msgspec.Struct, frozen=True):
    """A commit to be, and the head it follows."""

    key: RunKey
    id: str
    head: Head
    at: Instant
    events: tuple[msgspec.Raw, ...]
    causes: tuple[Cause, ...] = ()
    open: int = 1
    """How many things the run waits for after this commit; 0 when it is closed."""
    due: Instant | None = None
    """When the run's earliest timer fires."""
    trace: Mapping[str, str] = {}

    def encode(self) -> tuple[bytes, Head]:
        """The commit's bytes, and the head it will be once the log has given it a sequence."""
        head = self.head
        commit = Commit(FORMAT, self.key.run, head.events, self.at, self.causes, self.events, head.digest)
        body = encode_commit(commit)
        return body, Head(0, digest(body), head.events + len(self.events))


class Logged(msgspec.Struct, frozen=True):
    """A commit as it stands in the log; `head` is where the log ended with it."""

    key: RunKey
    id: str
    head: Head
    commit: Commit


class Summary(msgspec.Struct, frozen=True):
    """What a commit's headers say of its run."""

    key: RunKey
    sequence: int
    id: str
    open: int
    due: Instant | None


class Log(Protocol):
    async def append(self, append: Append) -> Head:
        """Write one commit. Repeating it is safe: the same commit id is the same commit."""
        ...

    async def append_many(self, appends: Sequence[Append]) -> list[Head | FabricError]:
        """Write many at once, at most one per run; each has its own outcome."""
        ...

    async def read(self, key: RunKey, after: Head = EMPTY) -> list[Logged]:
        """The commits after `after`, checked. `LogBroken` if they do not follow it and each other."""
        ...

    async def last(self, key: RunKey) -> Summary | None:
        """The run's last commit, never a stale one: what confirms a decision that writes nothing."""
        ...

    async def lasts(self, keys: Iterable[RunKey]) -> list[Summary]:
        """The last commits of many runs, in log order; a moment old at worst."""
        ...

    def scan(self, shard: int, sequence: int = 1) -> AsyncIterator[Summary]:
        """Every commit of a shard from `sequence` to the present end."""
        ...

    def scan_lasts(self, shard: int) -> AsyncIterator[Summary]:
        """The last commit of every run of a shard."""
        ...

    def tail(self, shard: int, sequence: int = 1) -> AsyncIterator[Logged]:
        """Every commit of a shard from `sequence` on, and those to come."""
        ...

    def follow(self, key: RunKey, sequence: int = 1) -> AsyncIterator[Logged]:
        """One run's commits from `sequence` on, and those to come."""
        ...


def logged(key: RunKey, commit_id: str, sequence: int, body: bytes) -> Logged:
    try:
        commit = decode_commit(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Undecodable(what=f"commit {sequence} of run {key.run}", reason=str(error)) from error
    if commit.format > FORMAT:
        reason = f"format {commit.format} is newer than {FORMAT}"
        raise Undecodable(what=f"commit {sequence} of run {key.run}", reason=reason)
    return Logged(key, commit_id, Head(sequence, digest(body), commit.first + len(commit.events)), commit)


def check_chain(key: RunKey, commits: Sequence[Logged], after: Head) -> list[Logged]:
    """The commits after `after`, which itself must lead them unless it is the empty head."""
    if after.sequence:
        if not commits or commits[0].head != after:
            raise LogBroken(run=key.run, sequence=after.sequence, reason="the commit to continue from is not there")
        commits = commits[1:]
    for entry in commits:
        reason = _fault(key, entry.commit, after)
        if reason:
            raise LogBroken(run=key.run, sequence=entry.head.sequence, reason=reason)
        after = entry.head
    return list(commits)


def _fault(key: RunKey, commit: Commit, after: Head) -> str:
    if commit.run != key.run:
        return f"the commit belongs to run {commit.run}"
    if commit.prev != after.digest or commit.first != after.events:
        return "a commit before it is missing or was changed"
    return ""
