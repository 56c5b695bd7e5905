"""Names: what users may choose, and that no choice reaches into another's subjects."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.model.commit import RunKey
from penstock.fabric.errors import IllegalName
from penstock.fabric.jetstream.declaration import declare
from penstock.fabric.naming import LIMITS, Names, check_id, token, untoken
from penstock.kit.config import FabricConfig

CONSUMER_NAME_MAX = 255
KEY_VALUE_KEY = re.compile(r"[-/_=.a-zA-Z0-9~]+")

NAMES = Names("ps", 4)
PARTS = st.text("ABZabz019_-", min_size=1, max_size=12)
IDS = st.lists(PARTS, min_size=1, max_size=4).map(".".join)
KEYS = st.builds(RunKey, IDS, IDS)


@pytest.mark.parametrize("value", ["a", "A-1_b", "parent.token.1", "0", "_", "-", "x" * 64])
def test_a_legal_name_is_given_back(value: str) -> None:
    assert check_id(value, "tenant") == value


@pytest.mark.parametrize(
    "value",
    [
        "",
        " ",
        "a b",
        "a.",
        ".a",
        "a..b",
        "*",
        ">",
        "a.*",
        "a.>",
        "a~b",
        "a=b",
        "a/b",
        "a\n",
        "a\x00",
        "ä",
        "$JS",
        "x" * 65,
    ],
)
def test_an_illegal_name_is_refused_with_its_kind_and_limit(value: str) -> None:
    with pytest.raises(IllegalName) as caught:
        check_id(value, "tenant")
    assert (caught.value.attributes["kind"], caught.value.attributes["limit"]) == ("tenant", 64)


def test_a_huge_name_is_not_carried_around_in_its_error() -> None:
    with pytest.raises(IllegalName) as caught:
        check_id("x" * 1_000_000, "run id")
    assert len(str(caught.value.attributes["value"])) == LIMITS["run id"] + 1


@given(IDS)
def test_an_id_is_one_token_and_comes_back_as_it_was(value: str) -> None:
    one = token(value, "run id")
    assert untoken(one) == value
    assert not set(one) & set(".*> \t\r\n")


@given(st.text())
def test_whatever_is_accepted_cannot_reach_into_the_subject(value: str) -> None:
    try:
        one = token(value, "run id")
    except IllegalName:
        return
    assert re.fullmatch(r"[A-Za-z0-9_~-]+", one)


@given(KEYS)
def test_every_subject_of_a_run_leads_back_to_it(key: RunKey) -> None:
    subjects = [NAMES.log(key), NAMES.command(key), NAMES.result(key), NAMES.fired(key), NAMES.timer(key, "t.1")]
    assert [NAMES.run_of(subject) for subject in subjects] == [key] * len(subjects)


@given(IDS, IDS, IDS)
def test_the_subject_of_a_task_or_dead_letter_leads_back_to_it(tenant: str, queue: str, identity: str) -> None:
    assert NAMES.queue_of(NAMES.task(tenant, queue, identity)) == (tenant, queue, identity)
    assert NAMES.queue_of(NAMES.dead_letter(tenant, queue, identity)) == (tenant, queue, identity)


@given(st.tuples(IDS, IDS), st.tuples(IDS, IDS))
def test_two_queues_never_share_a_consumer(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert (NAMES.queue_consumer(*one) == NAMES.queue_consumer(*other)) is (one == other)


def test_the_longest_names_make_a_consumer_that_the_server_accepts() -> None:
    longest = NAMES.queue_consumer("t" * LIMITS["tenant"], "q" * LIMITS["queue"])
    assert len(longest) <= CONSUMER_NAME_MAX


@given(KEYS)
def test_names_are_legal_keys_of_buckets_too(key: RunKey) -> None:
    assert KEY_VALUE_KEY.fullmatch(f"{token(key.tenant, 'tenant')}.{token(key.run, 'run id')}")


def test_subjects_are_spelt_as_documented() -> None:
    key = RunKey("acme", "order-17.t-1")
    shard = NAMES.shard(key)
    assert NAMES.log(key) == f"ps.log.{shard}.acme.order-17~t-1"
    assert NAMES.command(key) == f"ps.cmd.{shard}.acme.order-17~t-1"
    assert NAMES.result(key) == f"ps.res.{shard}.acme.order-17~t-1"
    assert NAMES.timer(key, "retry.2") == f"ps.timer.{shard}.acme.order-17~t-1.retry~2"
    assert NAMES.fired(key) == f"ps.fired.{shard}.acme.order-17~t-1"
    assert NAMES.task("acme", "mail", "t-1-2") == "ps.task.acme.mail.t-1-2"
    assert NAMES.dead_letter("acme", "mail", "t-1-2") == "ps.dlq.acme.mail.t-1-2"
    assert NAMES.blob("acme", "ab" * 32) == f"ps.blob.acme.{'ab' * 32}"


@pytest.mark.parametrize(("run", "shard"), [("r", 1), ("order-17", 0), ("parent.token.1", 0)])
def test_a_runs_shard_never_changes_between_versions(run: str, shard: int) -> None:
    assert NAMES.shard(RunKey("acme", run)) == shard
    assert NAMES.shard(RunKey("other", run)) == shard


def test_runs_spread_over_the_shards() -> None:
    shards = Counter(NAMES.shard(RunKey("acme", f"run-{number}")) for number in range(4_000))
    assert shards.keys() == set(range(4))
    assert min(shards.values()) > 800


def test_every_subject_belongs_to_exactly_one_declared_stream() -> None:
    config = FabricConfig()
    filters = {
        declared.name: [re.compile(re.escape(subject).replace(">", ".+")) for subject in declared.config["subjects"]]
        for declared in declare(config, NAMES)
    }
    key = RunKey("acme", "r")
    shard = NAMES.shard(key)
    expected = {
        NAMES.log(key): NAMES.log_stream(shard),
        NAMES.command(key): NAMES.command_stream(shard),
        NAMES.result(key): NAMES.command_stream(shard),
        NAMES.timer(key, "t"): NAMES.timer_stream(shard),
        NAMES.fired(key): NAMES.timer_stream(shard),
        NAMES.task("acme", "q", "t-1"): NAMES.tasks,
        NAMES.dead_letter("acme", "q", "t-1"): NAMES.dead_letters,
        NAMES.blob("acme", "ab"): NAMES.blobs,
    }
    for subject, stream in expected.items():
        assert [name for name, patterns in filters.items() if any(p.fullmatch(subject) for p in patterns)] == [stream]


def test_two_installations_on_one_server_share_no_name() -> None:
    def everything(prefix: str) -> set[str]:
        config = FabricConfig(prefix=prefix)
        declared = declare(config, Names(prefix, config.shards))
        return {name for stream in declared for name in (stream.name, *stream.config["subjects"])}

    for one, other in combinations(["ps", "p", "ps2"], 2):
        assert not everything(one) & everything(other)
