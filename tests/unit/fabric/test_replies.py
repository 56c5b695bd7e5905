"""Which refusals mean that asking again may help."""

from __future__ import annotations

import pytest

from penstock.fabric.errors import Unavailable
from penstock.fabric.jetstream.replies import CONFLICTS, Refusal, Refused


@pytest.mark.parametrize("number", [10008, 10009, 10158])
def test_a_server_that_cannot_answer_now_is_away(number: int) -> None:
    refused = Refused(Refusal(503, number, "not now"), "a test")
    assert isinstance(refused.unless_away(), Unavailable)


@pytest.mark.parametrize("number", sorted(CONFLICTS))
def test_a_conflict_is_left_to_the_adapter(number: int) -> None:
    refused = Refused(Refusal(400, number, "wrong last sequence"), "a test")
    assert refused.unless_away() is refused
