"""What every test runs under."""

from __future__ import annotations

from hypothesis import settings

# The same examples everywhere: a test that fails for one person fails for all, and none fails by chance.
settings.register_profile("penstock", derandomize=True, deadline=None)
settings.load_profile("penstock")
