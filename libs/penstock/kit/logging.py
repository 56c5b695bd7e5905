"""What a process says: structlog, one line per event, JSON or console; other libraries are routed through it.

Events are stable dotted names (`service.draining`); what varies goes into keys, listed in `kit.names`. Lines
go to stderr: stdout belongs to data.
"""

from __future__ import annotations

import logging
import sys
from typing import Any, TextIO

import msgspec
import structlog
from opentelemetry import trace
from structlog.typing import EventDict, Processor, WrappedLogger

from penstock.core.errors import PenstockError
from penstock.kit.config import Config, LogConfig, Section
from penstock.kit.redact import HIDDEN, SECRET_KEYS, redact

_HEAD = ("time", "level", "event")

_encode = msgspec.json.Encoder(enc_hook=repr).encode


def setup(config: LogConfig, stream: TextIO | None = None, **bound: str) -> None:
    """Call once, first thing in a process. `bound` is on every line."""
    out = stream or sys.stderr
    level = logging.getLevelNamesMapping()[config.level.upper()]
    structlog.configure(
        processors=[
            _binding(bound),
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
            _add_trace,
            _explain_error,
            _hide_secrets,
            *_renderers(config, out),
            _redact_line,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(out),
        cache_logger_on_first_use=True,
    )
    # Our own debug lines are enough of them: those of libraries would drown ours, and print payloads.
    logging.basicConfig(handlers=[_Bridge()], level=max(level, logging.INFO), force=True)
    logging.captureWarnings(capture=True)


def _renderers(config: LogConfig, out: TextIO) -> list[Processor]:
    if config.format == "console" or (config.format == "auto" and out.isatty()):
        # Plain tracebacks: the pretty ones print local variables, and with them secrets.
        return [
            structlog.dev.ConsoleRenderer(
                colors=out.isatty(),
                timestamp_key="time",
                exception_formatter=structlog.dev.plain_traceback,
            )
        ]
    return [structlog.processors.format_exc_info, _render_json]


def _binding(bound: dict[str, str]) -> Processor:
    # Not by context variables: callbacks of libraries and other threads do not have ours.
    def bind(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        event.update(bound)
        return event

    return bind


def _add_trace(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    span = trace.get_current_span().get_span_context()
    if span.is_valid:
        event["trace_id"] = trace.format_trace_id(span.trace_id)
    return event


def _explain_error(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """An error of ours says its code and what to do; its traceback would only hide that."""
    error = event.get("exc_info")
    if error is True:
        error = sys.exc_info()[1]
    if isinstance(error, PenstockError) and error.code != PenstockError.code:
        del event["exc_info"]
        event.update(code=error.code, reason=error.message, hint=error.hint)
    return event


def _hide_secrets(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    for key in SECRET_KEYS & event.keys():
        event[key] = HIDDEN
    for key, value in event.items():
        if isinstance(value, Section | Config):
            event[key] = repr(value)
    return event


def _render_json(_logger: WrappedLogger, _method: str, event: EventDict) -> str:
    head = {key: event.pop(key) for key in _HEAD}
    return _encode(head | dict(event)).decode()


def _redact_line(_logger: WrappedLogger, _method: str, line: Any) -> str:  # noqa: ANN401 - structlog's type
    """Last, so that nested values and tracebacks are covered too."""
    return redact(line)


class _Bridge(logging.Handler):
    """The standard library's logging, and through it every dependency's, as lines of ours."""

    def emit(self, record: logging.LogRecord) -> None:
        level = min(record.levelno // 10 * 10, logging.CRITICAL)  # libraries may have levels in between
        structlog.get_logger().log(level, record.getMessage(), logger=record.name, exc_info=record.exc_info)
