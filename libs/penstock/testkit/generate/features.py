"""What generated definitions may contain."""

from __future__ import annotations

from typing import Final

from msgspec import Struct


class Features(Struct, frozen=True):
    """Each part can be left out; all of them mix."""

    groups: bool = True
    nesting: int = 3
    """Groups inside groups."""
    forks: bool = True
    loops: bool = True
    conditions: bool = True
    raising: bool = True
    """Conditions that raise, `foreach` over no list, outputs that their schema refuses."""
    failures: bool = True
    retries: bool = True
    mappings: bool = True
    compensation: bool = True
    agents: bool = True
    humans: bool = True
    waits: bool = True
    children: bool = False
    """`workflow` nodes; whoever drives the run answers for the child as for a task."""
    choices: bool = True
    """`any` and `m_of_n` with branches to spare: several endings, all of them known."""
    races: bool = False
    """Tokens that write what others read or write, unordered: nothing but termination can be predicted."""


CALM: Final = Features(raising=False, failures=False, choices=False)
"""Every run completes, with one ending."""

EVERYTHING: Final = Features(children=True, races=True)
