"""Prometheus metrics of this process: one registry, one exposition.

Labelled children are cached by whoever counts on a hot path; `labels()` costs more than the increment.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Gauge, Info, PlatformCollector, ProcessCollector
from prometheus_client.exposition import choose_encoder

from penstock.kit import names

REGISTRY = CollectorRegistry()

ProcessCollector(registry=REGISTRY)
PlatformCollector(registry=REGISTRY)

build = Info(names.BUILD_INFO, "What runs in this process.", registry=REGISTRY)
ready = Gauge(names.READY, "1 while this process takes work.", registry=REGISTRY)
dependency_up = Gauge(names.DEPENDENCY_UP, "1 while a dependency answers.", ["dependency"], registry=REGISTRY)


def exposition(accept: str) -> tuple[bytes, str]:
    """All metrics and their content type, in the format the scraper accepts."""
    encode, content_type = choose_encoder(accept)
    return encode(REGISTRY), content_type
