"""Two thousand schedules of generated definitions, by fixed seeds: each ends as predicted, and nothing is lost.

`make simulate N=100000` runs as many as you like, and shows what it finds.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.testkit.simulate import Level
from penstock.testkit.simulate.campaign import Plan, campaign

PLANS: list[tuple[Level, int, int, int]] = [
    ("none", 100, 10, 200),
    ("some", 200, 10, 400),
    ("some", 300, 10, 400),
    ("some", 400, 25, 100),
    ("many", 500, 10, 300),
    ("many", 600, 10, 300),
    ("many", 700, 4, 300),
]


@pytest.mark.parametrize(("level", "seed", "size", "runs"), PLANS)
def test_every_schedule_ends_as_predicted(level: Level, seed: int, size: int, runs: int, tmp_path: Path) -> None:
    failures = [done.failure for done in campaign(Plan(runs, seed, size, level, str(tmp_path)), 1) if done.failure]
    assert not failures
