from __future__ import annotations

import pytest
import structlog

from penstock.core.errors import PenstockError
from penstock.fabric.errors import BlobMissing, FabricError, IllegalName, LogConflict, Unavailable
from penstock.kit import edge
from penstock.kit.errors import AddressUnavailable


@pytest.mark.parametrize(
    ("error", "status", "http"),
    [
        (IllegalName(value="a b", kind="a run id", limit=9), "INVALID_ARGUMENT", 400),
        (BlobMissing(digest="d"), "NOT_FOUND", 404),
        (LogConflict(run="r", expected=1), "ABORTED", 409),
        (Unavailable(operation="o", seconds=1), "UNAVAILABLE", 503),
        (AddressUnavailable(host="h", port=1, reason="r"), "INTERNAL", 500),
        (PenstockError(), "INTERNAL", 500),
    ],
    ids=lambda value: getattr(value, "code", None),
)
def test_an_error_has_one_status_at_both_edges(error: PenstockError, status: str, http: int) -> None:
    assert edge.canonical(error) == status
    assert edge.problem(error).status == http


def test_an_error_without_a_line_of_its_own_is_treated_as_its_parent() -> None:
    error = type("Special", (BlobMissing,), {"__doc__": "No {digest}."})(digest="d")
    assert edge.canonical(error) == edge.canonical(BlobMissing(digest="d"))


def test_a_problem_says_what_happened_what_to_do_and_carries_the_attributes() -> None:
    error = LogConflict(run="r1", expected=7)
    problem = edge.problem(error)
    assert error.message in problem.detail
    assert error.hint in problem.detail
    assert (problem.code, problem.retryable) == (error.code, True)
    assert problem.attributes == {"run": "r1", "expected": "7"}


def test_a_long_attribute_is_cut_so_that_the_answer_arrives() -> None:
    problem = edge.problem(FabricError(reason="x" * 100_000))
    assert len(problem.attributes["reason"]) == len(problem.detail) == edge.TEXT_LIMIT


def test_credentials_in_attributes_do_not_leave() -> None:
    assert "hunter2" not in str(edge.problem(FabricError(reason="no route to nats://me:hunter2@host")))


def test_what_was_not_foreseen_is_logged_under_the_id_that_the_caller_gets() -> None:
    with structlog.testing.capture_logs() as lines:
        seen = edge.told(OSError("secret"), "Get")
    assert type(seen) is PenstockError
    assert "secret" not in str(edge.problem(seen))
    assert lines[0]["incident"] == seen.attributes["incident"]
    assert isinstance(lines[0]["exc_info"], OSError)
