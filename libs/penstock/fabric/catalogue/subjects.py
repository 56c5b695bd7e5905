"""Where an application keeps what: a subject per aggregate, a key per snapshot, a key per view.

PS_CAT            ps.cat.<application>.events.<aggregate>      one message per event
                  ps.cat.<application>.tracking.<upstream>     how far a process has come
KV_ps_snapshot    cat.<application>.<aggregate>.<version>      one key per snapshot
                  cat.<view>                                   a view: its state and how far it has come
"""

from __future__ import annotations

from uuid import UUID

from penstock.fabric.naming import Names, token


class Subjects:
    def __init__(self, names: Names, application: str) -> None:
        owner = token(application, "application")
        self._root = f"{names.prefix}.cat.{owner}"
        self._snapshots = f"$KV.{names.snapshots}.cat.{owner}"
        self.all_events = f"{self._root}.events.>"

    def event(self, originator: UUID | str) -> str:
        return f"{self._root}.events.{_aggregate(originator)}"

    def tracking(self, upstream: str) -> str:
        return f"{self._root}.tracking.{token(upstream, 'application')}"

    def snapshots(self, originator: UUID | str) -> str:
        return f"{self._snapshots}.{_aggregate(originator)}.*"

    def snapshot(self, originator: UUID | str, version: int) -> str:
        return f"{self._snapshots}.{_aggregate(originator)}.{version}"


def view_key(name: str) -> str:
    return f"cat.view.{token(name, 'application')}"


def _aggregate(originator: UUID | str) -> str:
    return token(str(originator), "aggregate id")
