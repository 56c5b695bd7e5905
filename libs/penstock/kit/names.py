"""Log keys and metric names. Dashboards, alerts and saved searches depend on them: change with care.

Log calls pass keys as keywords; a test holds every call in the source to this list.
"""

from __future__ import annotations

from typing import Final

LOG_KEYS: Final = {
    "address": "where something listens or is connected to",
    "attempt": "which try this is, from 1",
    "changed": "names of what was created or upgraded",
    "code": "an error's stable code",
    "delay": "seconds until the next try",
    "exit_code": "of this process",
    "grace": "seconds given to work in flight",
    "grpc_port": "port of the gRPC API",
    "hint": "what to do about an error",
    "http_port": "port of the REST API",
    "incident": "id that a caller was given instead of the cause",
    "instance": "id of this start of the process",
    "logger": "the library that a line comes from, when it is not ours",
    "method": "the call at the edge",
    "reason": "why, in words",
    "role": "which service this process is",
    "seconds": "how long it took",
    "signal": "the signal that was received",
    "step": "a part of starting or stopping",
    "telemetry_port": "port of /metrics and /health",
    "version": "of Penstock, or of the server that is meant",
}

BUILD_INFO: Final = "penstock_build"
DEPENDENCY_UP: Final = "penstock_dependency_up"
READY: Final = "penstock_ready"
REQUESTS: Final = "penstock_requests"
REQUEST_SECONDS: Final = "penstock_request_seconds"
