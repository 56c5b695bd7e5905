"""The gateway: gRPC and REST at the edge of an installation."""

import os

# Before gRPC is imported: its core writes to stderr past every logger, and our log is one JSON object per line.
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
