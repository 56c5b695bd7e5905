from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import structlog
from opentelemetry import trace

from penstock.kit.config import Config, LogConfig, NatsConfig
from penstock.kit.errors import ConfigUnknownKey
from penstock.kit.logging import setup
from penstock.kit.redact import HIDDEN


@pytest.fixture
def out() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield io.StringIO()
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()
    logging.captureWarnings(capture=False)
    root.handlers[:], root.level = handlers, level


def lines(out: io.StringIO) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in out.getvalue().splitlines()]


def test_a_line_is_json_with_what_is_bound_to_the_process_and_the_context(out: io.StringIO) -> None:
    setup(LogConfig(format="json"), out, role="gateway")
    with structlog.contextvars.bound_contextvars(run="r1"):
        structlog.get_logger().info("run.loaded", seconds=0.5)
    (line,) = lines(out)
    assert list(line)[:3] == ["time", "level", "event"]
    assert line | {"time": ""} == {
        "time": "",
        "level": "info",
        "event": "run.loaded",
        "role": "gateway",
        "run": "r1",
        "seconds": 0.5,
    }


def test_lines_below_the_level_are_dropped(out: io.StringIO) -> None:
    setup(LogConfig(level="warning", format="json"), out)
    structlog.get_logger().info("not.said")
    logging.getLogger("some.library").info("not said either")
    structlog.get_logger().warning("said")
    assert [line["event"] for line in lines(out)] == ["said"]


def test_the_standard_library_and_warnings_are_routed_through(out: io.StringIO) -> None:
    setup(LogConfig(format="json"), out)
    logging.getLogger("some.library").log(logging.WARNING + 5, "it has %s", "happened")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        logging.captureWarnings(capture=False)
        logging.captureWarnings(capture=True)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    assert [line["logger"] for line in lines(out)] == ["some.library", "py.warnings"]
    assert lines(out)[0]["event"] == "it has happened"


@pytest.mark.parametrize("form", ["json", "console"])
def test_no_secret_is_ever_written(out: io.StringIO, form: Any) -> None:  # noqa: ANN401 - a literal
    setup(LogConfig(format=form), out)
    log = structlog.get_logger()
    secrets = {"password": "hunter2", "url": "nats://hunter2@host"}
    nats = NatsConfig(**secrets, token="hunter2")  # type: ignore[arg-type] # noqa: S106 - what must not show
    log.info("config", nats=nats, config=Config(nats=nats), nested=[secrets], **secrets)
    log.error("failed", exc_info=OSError("cannot reach postgresql://me:hunter2@host/db"))
    assert "hunter2" not in out.getvalue()
    assert HIDDEN in out.getvalue()
    assert "OSError" in out.getvalue()


def test_an_error_of_ours_says_its_code_and_what_to_do_instead_of_a_traceback(out: io.StringIO) -> None:
    setup(LogConfig(format="json"), out)
    error = ConfigUnknownKey(key="a", source="b", suggestion="c")
    structlog.get_logger().error("failed", exc_info=error)
    (line,) = lines(out)
    assert (line["code"], line["reason"], line["hint"]) == (error.code, error.message, error.hint)
    assert "exception" not in line


def test_a_line_inside_a_trace_carries_its_id(out: io.StringIO) -> None:
    setup(LogConfig(format="json"), out)
    context = trace.SpanContext(trace_id=0xABC, span_id=1, is_remote=False)
    with trace.use_span(trace.NonRecordingSpan(context)):
        structlog.get_logger().info("here")
    assert int(lines(out)[0]["trace_id"], 16) == 0xABC


def test_auto_is_json_when_nobody_watches(out: io.StringIO) -> None:
    setup(LogConfig(format="auto"), out)
    structlog.get_logger().info("here")
    assert lines(out)[0]["event"] == "here"


def test_values_json_does_not_know_are_written_all_the_same(out: io.StringIO) -> None:
    setup(LogConfig(format="json"), out)
    structlog.get_logger().info("here", reason=object)
    assert "object" in lines(out)[0]["reason"]
