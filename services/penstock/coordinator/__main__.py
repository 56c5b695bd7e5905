"""`python -m penstock.coordinator`: configuration from the environment, then the service."""

from __future__ import annotations

import sys

from penstock.coordinator.service import start
from penstock.kit.lifecycle import main

if __name__ == "__main__":
    sys.exit(main("coordinator", start))
