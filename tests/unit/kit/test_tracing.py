from __future__ import annotations

import pytest
from opentelemetry import trace

from penstock.kit.tracing import extract, inject, span

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TRACE_ID = 0x0AF7651916CD43DD8448EB211C80319C


def current_trace() -> int:
    return trace.get_current_span().get_span_context().trace_id


def test_a_trace_goes_into_the_headers_and_comes_out_on_the_other_side() -> None:
    with span("sending", {"traceparent": PARENT, "tracestate": "vendor=1"}):
        headers = inject({"Ps-Commit": "c1"})
    assert headers["traceparent"].split("-")[1] == f"{TRACE_ID:032x}"
    assert headers["tracestate"] == "vendor=1"
    assert headers["Ps-Commit"] == "c1"
    with span("receiving", headers):
        assert current_trace() == TRACE_ID


def test_without_a_trace_the_headers_stay_as_they_are() -> None:
    assert inject({}) == {}


@pytest.mark.parametrize("headers", [None, {}, {"traceparent": "nonsense"}], ids=["none", "empty", "nonsense"])
def test_headers_without_a_usable_context_start_no_trace(headers: dict[str, str] | None) -> None:
    assert not trace.get_current_span(extract(headers)).get_span_context().is_valid


def test_the_message_decides_the_trace_and_not_what_happens_to_be_current() -> None:
    with span("current", {"traceparent": PARENT}), span("of a message without one", {}):
        assert current_trace() != TRACE_ID
