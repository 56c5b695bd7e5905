"""Patches of definitions: JSON Patch with names, what leads from one definition to another, and what changed."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.definition import check
from penstock.core.definition.patch import (
    MAX_OPERATIONS,
    Changed,
    Changes,
    PatchError,
    PatchMalformed,
    PatchPathInvalid,
    PatchTestFailed,
    PatchTooLarge,
    Summary,
    apply,
    breaking_changes,
    diff,
    next_version,
    summarize,
)
from penstock.expr.evaluator import ExpressionEvaluator

Json = Any

SEED: Json = {
    "name": "w",
    "nodes": [
        {"id": "fetch", "type": "task", "config": {"url": "a", "tries": [1, 2]}},
        {"node_id": "process_data", "type": "task"},
    ],
    "edges": [{"from": "fetch", "to": "process_data"}, {"id": "t", "from_node": "fetch", "to_node": "process_data"}],
}

APPLIED = [
    ("add an item at the end", {"op": "add", "path": "/nodes/-", "value": 1}, ("nodes", 2), 1),
    ("add an item before another", {"op": "add", "path": "/nodes/0", "value": 1}, ("nodes", 0), 1),
    ("add before a node by its name", {"op": "add", "path": "/nodes/process_data", "value": 1}, ("nodes", 1), 1),
    ("add a field", {"op": "add", "path": "/nodes/fetch/queue", "value": "q"}, ("nodes", 0, "queue"), "q"),
    ("add replaces a field", {"op": "add", "path": "/name", "value": "v"}, ("name",), "v"),
    (
        "replace by index",
        {"op": "replace", "path": "/nodes/0/config/url", "value": "b"},
        ("nodes", 0, "config", "url"),
        "b",
    ),
    (
        "replace by node_id",
        {"op": "replace", "path": "/nodes/process_data/type", "value": "x"},
        ("nodes", 1, "type"),
        "x",
    ),
    ("edges are transitions", {"op": "add", "path": "/transitions/-", "value": 1}, ("edges", 2), 1),
    (
        "a transition by from->to",
        {"op": "add", "path": "/edges/fetch->process_data/when", "value": "x"},
        ("edges", 0, "when"),
        "x",
    ),
    ("a transition by id", {"op": "add", "path": "/edges/t/when", "value": "x"}, ("edges", 1, "when"), "x"),
    (
        "move",
        {"op": "move", "from": "/nodes/fetch/config/url", "path": "/nodes/process_data/url"},
        ("nodes", 1, "url"),
        "a",
    ),
    (
        "copy",
        {"op": "copy", "from": "/nodes/fetch/config/tries/1", "path": "/nodes/fetch/config/last"},
        ("nodes", 0, "config", "last"),
        2,
    ),
    ("the whole", {"op": "replace", "path": "", "value": {"nodes": [7]}}, ("nodes", 0), 7),
]


@pytest.mark.parametrize(("operation", "path", "value"), [row[1:] for row in APPLIED], ids=[row[0] for row in APPLIED])
def test_an_operation_changes_what_it_points_to(operation: Json, path: tuple[str | int, ...], value: Json) -> None:
    before = deepcopy(SEED)
    found = apply(SEED, [operation])
    for step in path:
        found = found[step]
    assert found == value
    assert before == SEED


def test_remove_takes_out_a_field_and_an_item() -> None:
    found = apply(SEED, [{"op": "remove", "path": "/nodes/fetch/config"}, {"op": "remove", "path": "/edges/t"}])
    assert "config" not in found["nodes"][0]
    assert found["edges"] == SEED["edges"][:1]


def test_operations_see_what_those_before_them_did() -> None:
    node = {"id": "send", "type": "task"}
    found = apply(
        SEED,
        [
            {"op": "add", "path": "/nodes/-", "value": node},
            {"op": "add", "path": "/nodes/send/queue", "value": "mail"},
            {"op": "test", "path": "/nodes/send/queue", "value": "mail"},
        ],
    )
    assert found["nodes"][-1] == {**node, "queue": "mail"}
    assert "queue" not in node, "what an operation brings is not written into"


def test_a_definition_without_transitions_can_be_given_one() -> None:
    """Seed 002 patches a workflow in the node spelling with `add /edges/-`."""
    found = apply({"nodes": []}, [{"op": "add", "path": "/edges/-", "value": {"from": "a", "to": "b"}}])
    assert found == {"nodes": [], "edges": [{"from": "a", "to": "b"}]}


def test_nodes_in_an_object_are_named_by_their_key() -> None:
    found = apply({"nodes": {"a": {}}}, [{"op": "add", "path": "/nodes/a/queue", "value": "q"}])
    assert found == {"nodes": {"a": {"queue": "q"}}}


def test_the_second_of_two_transitions_between_the_same_nodes_has_a_name_of_its_own() -> None:
    way = {"from": "a", "to": "b"}
    found = apply({"edges": [way, way]}, [{"op": "add", "path": "/edges/a->b#2/when", "value": "x"}])
    assert found == {"edges": [way, {**way, "when": "x"}]}


REFUSED = [
    ("no object", 7, PatchMalformed),
    ("no such operation", {"op": "merge", "path": "/a"}, PatchMalformed),
    ("no operation at all", {"path": "/a"}, PatchMalformed),
    ("an operation that is no text", {"op": ["add"], "path": "/a"}, PatchMalformed),
    ("no path", {"op": "remove"}, PatchMalformed),
    ("no value", {"op": "add", "path": "/a"}, PatchMalformed),
    ("no source", {"op": "move", "path": "/a"}, PatchMalformed),
    ("a path that is no text", {"op": "remove", "path": 1}, PatchMalformed),
    ("a path without a slash", {"op": "remove", "path": "nodes"}, PatchPathInvalid),
    ("nothing there", {"op": "remove", "path": "/limits"}, PatchPathInvalid),
    ("nothing there to replace", {"op": "replace", "path": "/limits", "value": 1}, PatchPathInvalid),
    ("nothing on the way", {"op": "add", "path": "/limits/max_hops", "value": 1}, PatchPathInvalid),
    ("no such node", {"op": "remove", "path": "/nodes/nobody"}, PatchPathInvalid),
    ("no such transition", {"op": "remove", "path": "/edges/a->z"}, PatchPathInvalid),
    ("past the end", {"op": "add", "path": "/nodes/3", "value": 1}, PatchPathInvalid),
    ("behind the end", {"op": "remove", "path": "/nodes/-"}, PatchPathInvalid),
    ("a name in a plain list", {"op": "add", "path": "/nodes/fetch/config/tries/x", "value": 1}, PatchPathInvalid),
    ("an index with a leading zero", {"op": "remove", "path": "/nodes/fetch/config/tries/01"}, PatchPathInvalid),
    ("inside a text", {"op": "add", "path": "/name/x", "value": 1}, PatchPathInvalid),
    ("the whole", {"op": "remove", "path": ""}, PatchPathInvalid),
    ("into itself", {"op": "move", "from": "/nodes", "path": "/nodes/0/x"}, PatchPathInvalid),
    ("from nowhere", {"op": "copy", "from": "/x", "path": "/y"}, PatchPathInvalid),
    ("another value", {"op": "test", "path": "/name", "value": "v"}, PatchTestFailed),
    ("true is not 1", {"op": "test", "path": "/nodes/fetch/config/tries/0", "value": True}, PatchTestFailed),
    ("a path too deep", {"op": "add", "path": "/a" * 65, "value": 1}, PatchTooLarge),
    ("a value too deep", {"op": "add", "path": "/x", "value": msgspec.json.decode("[" * 70 + "]" * 70)}, PatchTooLarge),
    ("a value too large", {"op": "add", "path": "/x", "value": "x" * 2_000_000}, PatchTooLarge),
]


@pytest.mark.parametrize(("operation", "error"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_what_cannot_be_applied_is_refused_with_the_number_of_the_operation(
    operation: Json, error: type[PatchError]
) -> None:
    with pytest.raises(error) as caught:
        apply(SEED, [{"op": "test", "path": "/name", "value": "w"}, operation])
    assert caught.value.attributes["index"] == 1
    if error is PatchPathInvalid:
        assert caught.value.attributes["path"] == operation["path"]


def test_numbers_are_compared_by_value_and_objects_in_any_order() -> None:
    document = {"a": {"x": 1, "y": [2.0]}}
    assert apply(document, [{"op": "test", "path": "/a", "value": {"y": [2], "x": 1.0}}]) == document


def test_a_patch_has_at_most_a_thousand_operations() -> None:
    operation = {"op": "test", "path": "/name", "value": "w"}
    assert apply(SEED, [operation] * MAX_OPERATIONS) == SEED
    with pytest.raises(PatchTooLarge):
        apply(SEED, [operation] * (MAX_OPERATIONS + 1))


def test_a_value_copied_over_and_over_is_stopped_before_it_fills_the_memory() -> None:
    doubling = [{"op": "copy", "from": "/x", "path": "/x/-"} for _ in range(60)]
    with pytest.raises(PatchTooLarge):
        apply({"x": ["some text"]}, doubling)


def test_the_result_is_checked_like_any_definition() -> None:
    definition = {"nodes": {"a": {"type": "pass"}}}
    found = apply(definition, [{"op": "add", "path": "/nodes/b", "value": {"type": "pass", "dependencies": ["x"]}}])
    assert [error.code for error in check(found, evaluator=ExpressionEvaluator()).errors] == ["UNKNOWN_NODE"]


# -- from one definition to another

NAMES = ("a", "b", "c/d", "~e", "7", "f.g", "-")
VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.sampled_from([0, 1, 1.0, "", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["x", "y", "/", "~"]), inner, max_size=3)
    ),
    max_leaves=5,
)


def shuffled(fields: dict[str, st.SearchStrategy[Json]]) -> st.SearchStrategy[dict[str, Json]]:
    """Any of the fields, in any order."""
    return st.permutations(list(fields)).flatmap(
        lambda keys: st.tuples(
            st.fixed_dictionaries({key: fields[key] for key in keys}), st.sets(st.sampled_from(list(fields)))
        ).map(lambda drawn: {key: value for key, value in drawn[0].items() if key not in drawn[1]})
    )


NODES = st.lists(
    shuffled({"id": st.sampled_from(NAMES), "config": VALUES, "queue": VALUES})
    | shuffled({"node_id": st.sampled_from(NAMES), "config": VALUES}),
    max_size=6,
)
WAYS = st.lists(
    st.fixed_dictionaries({"from": st.sampled_from(NAMES), "to": st.sampled_from(NAMES)}, optional={"when": VALUES})
    | shuffled({"id": st.sampled_from(NAMES), "from_node": st.sampled_from(NAMES), "to_node": VALUES}),
    max_size=6,
)
DEFINITIONS = shuffled(
    {
        "name": VALUES,
        "nodes": NODES | st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4),
        "transitions": WAYS,
        "edges": WAYS,
        "limits": VALUES,
    }
)


@given(DEFINITIONS, DEFINITIONS)
def test_a_diff_leads_from_the_old_definition_to_the_new_one_to_the_byte(old: Json, new: Json) -> None:
    operations = diff(old, new)
    assert msgspec.json.encode(apply(old, operations)) == msgspec.json.encode(new)
    assert bool(operations) == (msgspec.json.encode(old) != msgspec.json.encode(new))


@given(st.permutations(range(12)), st.permutations(range(12)), st.integers(0, 12))
def test_a_diff_of_orders_takes_out_only_what_is_in_the_way(old: list[int], new: list[int], size: int) -> None:
    before, after = ({"nodes": [{"id": f"n{number}"} for number in order]} for order in (old[:size], new))
    operations = diff(before, after)
    assert apply(before, operations) == after
    assert len(operations) <= 2 * len(new)


def test_a_diff_tells_changes_by_name() -> None:
    new = deepcopy(SEED)
    new["nodes"][0]["config"]["url"] = "b"
    new["nodes"].append({"id": "send"})
    del new["edges"][1]
    assert diff(SEED, new) == [
        {"op": "add", "path": "/nodes/-", "value": {"id": "send"}},
        {"op": "replace", "path": "/nodes/fetch/config/url", "value": "b"},
        {"op": "remove", "path": "/edges/t"},
    ]


def test_a_node_that_only_moved_is_taken_out_and_put_back() -> None:
    nodes = [{"id": name} for name in "abcde"]
    operations = diff({"nodes": nodes}, {"nodes": [*nodes[1:], nodes[0]]})
    assert [(operation["op"], operation["path"]) for operation in operations] == [
        ("remove", "/nodes/a"),
        ("add", "/nodes/-"),
    ]


def test_a_diff_with_too_many_operations_replaces_the_whole() -> None:
    old: Json = {"nodes": [{"id": f"n{number}", "queue": "a"} for number in range(MAX_OPERATIONS + 1)]}
    new = {"nodes": [{**node, "queue": "b"} for node in old["nodes"]]}
    assert [operation["path"] for operation in diff(old, new)] == [""]


def test_a_summary_names_what_was_added_removed_and_changed() -> None:
    new = apply(
        SEED,
        [
            {"op": "add", "path": "/nodes/-", "value": {"id": "send"}},
            {"op": "remove", "path": "/nodes/process_data"},
            {"op": "replace", "path": "/nodes/fetch/config/url", "value": "b"},
            {"op": "add", "path": "/nodes/fetch/retry", "value": 3},
            {"op": "remove", "path": "/edges/t"},
            {"op": "add", "path": "/edges/fetch->process_data/when", "value": "x"},
            {"op": "add", "path": "/deadline", "value": "1h"},
        ],
    )
    summary = summarize(SEED, new)
    assert summary == Summary(
        Changes(("send",), ("process_data",), (Changed("fetch", ("config", "retry")),)),
        Changes((), ("t",), (Changed("fetch->process_data", ("when",)),)),
        ("deadline",),
    )
    assert summary.lines == (
        "+ node send",
        "- node process_data",
        "~ node fetch: config, retry",
        "- transition t",
        "~ transition fetch->process_data: when",
        "~ deadline",
    )


def test_a_summary_sees_a_change_of_order_and_nothing_where_nothing_changed() -> None:
    old: Json = {"nodes": {"a": None, "b": {}}}
    assert summarize(old, {"nodes": {"b": {}, "a": None}}).lines == ("~ order of nodes",)
    assert summarize(old, old).lines == ()


@pytest.mark.parametrize(
    ("version", "following"),
    [
        ("main@v1.0", "main@v1.1"),
        ("v1.9", "v1.10"),
        ("3", "4"),
        ("1.2.3-rc", "1.2.4-rc"),
        ("beta", "beta.1"),
        ("", "1"),
    ],
)
def test_a_patch_bumps_the_version(version: str, following: str) -> None:
    assert next_version(version) == following


# -- configs of one schema for another

CONFIG: Json = {
    "type": "object",
    "properties": {"url": {"type": "string"}, "mode": {"enum": ["a", "b"]}, "tries": {"type": "integer"}},
    "required": ["url"],
}


def config(*operations: Json) -> Json:
    return apply(CONFIG, operations)


COMPATIBLE = [
    ("nothing", config()),
    ("a new optional field", config({"op": "add", "path": "/properties/new", "value": {"type": "string"}})),
    ("a field is no longer required", config({"op": "remove", "path": "/required"})),
    ("one more value", config({"op": "add", "path": "/properties/mode/enum/-", "value": "c"})),
    ("a wider type", config({"op": "replace", "path": "/properties/tries/type", "value": "number"})),
    ("an optional field is gone", config({"op": "remove", "path": "/properties/tries"})),
    ("a title", config({"op": "add", "path": "/title", "value": "x"})),
]
BREAKING = [
    ("a required field is gone", "/url", config({"op": "remove", "path": "/properties/url"})),
    ("a new required field", "/tries", config({"op": "add", "path": "/required/-", "value": "tries"})),
    ("a narrower type", "/url", config({"op": "replace", "path": "/properties/url/type", "value": "integer"})),
    ("one value less", "/mode", config({"op": "remove", "path": "/properties/mode/enum/0"})),
    ("no other fields", "/", config({"op": "add", "path": "/additionalProperties", "value": False})),
    ("a new constraint", "/url", config({"op": "add", "path": "/properties/url/minLength", "value": 3})),
    ("all fields are gone", "/url", True),
]


@pytest.mark.parametrize("new", [row[1] for row in COMPATIBLE], ids=[row[0] for row in COMPATIBLE])
def test_configs_still_fit_a_compatible_schema(new: Json) -> None:
    assert breaking_changes(CONFIG, new) == ()


@pytest.mark.parametrize(("path", "new"), [row[1:] for row in BREAKING], ids=[row[0] for row in BREAKING])
def test_a_breaking_change_needs_a_new_type_url(path: str, new: Json) -> None:
    assert [change.partition(":")[0] for change in breaking_changes(CONFIG, new)] == [path]
