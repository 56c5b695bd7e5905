"""Traces through the OpenTelemetry API, carried over NATS in the W3C headers.

The API alone does nothing; whoever wants traces installs an SDK and configures it by its own `OTEL_*`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

# Not the global propagator: baggage is the application's, and must not grow our messages.
_W3C = TraceContextTextMapPropagator()


def inject(headers: dict[str, str]) -> dict[str, str]:
    """Add the current trace context to the headers of a message; nothing when there is no trace."""
    if trace.get_current_span().get_span_context().is_valid:
        _W3C.inject(headers)
    return headers


def extract(headers: Mapping[str, str] | None) -> Context:
    """The trace context a message carries; an empty one when it carries none, or nonsense."""
    return _W3C.extract(headers or {}, Context())


@contextmanager
def span(name: str, headers: Mapping[str, str] | None = None, kind: SpanKind = SpanKind.INTERNAL) -> Iterator[Span]:
    """A span around the block. With `headers` it continues the trace of the message, else the current one."""
    parent = extract(headers) if headers is not None else None
    tracer = trace.get_tracer("penstock")
    with tracer.start_as_current_span(name, context=parent, kind=kind) as current:
        yield current
