"""Groups, joins, named joins and loops of the reference interpreter, sentence by sentence of the rules."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.testkit.reference import Answer, Asked, Completed, Failed
from penstock.testkit.reference.predict import Reference
from tests.unit.testkit.reference.predicting import BAD, EVALUATOR, Case, Json, check, inputs, maybe, out, predict, ran

T: dict[str, Any] = {}
THREE = {"a": out(xs=[1, 2, 3])}


def foreach(join: Json = None, **more: Json) -> list[Json]:
    return [
        {"from": "a", "to": "b", "foreach": "output.xs", "group": "g"},
        {"from": "b", "to": "j", "synchronize": {"group": "g", **(join or {})}, **more},
    ]


def split(join: Json = None) -> list[Json]:
    """Branch 0 is b, branch 1 is c."""
    return [
        {"from": "a", "to": "b", "group": "g"},
        {"from": "a", "to": "c", "group": "g"},
        *({"from": name, "to": "j", "synchronize": {"group": "g", **(join or {})}} for name in "bc"),
    ]


def merging(case: str, merge: Json, expected: Json, values: tuple[Json, Json], **more: Json) -> Case:
    answers = {"b": Completed(values[0]), "c": Completed(values[1])}
    nodes = {"a": T, "b": T, "c": T, "j": T}
    return Case(
        case, nodes, split({"merge": merge}), ["a", "b@g0", "c@g1", "j"], answers, input=("j", [expected]), **more
    )


ABJ = {"a": T, "b": T, "j": T}
ABCJ = {"a": T, "b": T, "c": T, "j": T}
DIAMOND: dict[str, Json] = {"a": T, "b": T, "c": T, "d": {"dependencies": ["b", "c"], "wait_for_all": True}}
FORK = [{"from": "a", "to": "b"}, {"from": "a", "to": "c"}]
MEET = [{"from": "b", "to": "d"}, {"from": "c", "to": "d"}]
ALL_THREE = ["a", "b@g0", "b@g1", "b@g2", "j"]


def loop(**fields: Json) -> dict[str, Json]:
    """`t` is there if a path leads to it."""
    others = {"t": T} if any("t" in fields.get(path, "") for path in ("timeout_path", "break_path")) else {}
    return {"a": T, "l": {"input": {"k": "input.n"}, "loop": fields}, "z": T, **others}


L_EDGES = [{"from": "a", "to": "l"}, {"from": "l", "to": "z"}]

CASES = [
    Case("one branch per item, merged by index", ABJ, foreach(), ALL_THREE, THREE, input=("j", [[1, 2, 3]])),
    Case(
        "spawn makes that many branches",
        ABJ,
        [{"from": "a", "to": "b", "spawn": 2}, {"from": "b", "to": "j", "synchronize": {"group": "a->b"}}],
        ["a", "b@a->b0", "b@a->b1", "j"],
        {"a": Completed(7)},
        input=("j", [[7, 7]]),
    ),
    Case(
        "branches are numbered by transition, then item",
        ABCJ,
        [
            {"from": "a", "to": "c", "foreach": "output.xs", "group": "g"},
            {"from": "a", "to": "b", "group": "g"},
            *({"from": name, "to": "j", "synchronize": {}} for name in "bc"),
        ],
        ["a", "b@g3", "c@g0", "c@g1", "c@g2", "j"],
        {**THREE, "b": Completed(9)},
        input=("j", [[1, 2, 3, 9]]),
    ),
    Case(
        "a branch describes itself, and may name its item",
        {**ABJ, "b": {"input": ["_branch.it", "_branch.index", "_branch.total", "_branch.fan_out_node_id"]}},
        [
            {"from": "a", "to": "b", "foreach": {"in": "output.xs", "item": "it"}},
            {"from": "b", "to": "j", "synchronize": {"group": "a->b"}},
        ],
        ["a", "b@a->b0", "b@a->b1", "j"],
        {"a": out(xs=["x", "y"])},
        input=("j", [[["x", 0, 2, "a"], ["y", 1, 2, "a"]]]),
    ),
    Case(
        "a mapping in a branch writes the branch's output, not the state",
        {**ABJ, "b": {"output": {"v": "_branch.index"}}},
        foreach(),
        ALL_THREE,
        THREE,
        state={},
        input=("j", [[{"v": 0}, {"v": 1}, {"v": 2}]]),
    ),
    Case(
        "the merge target is in the state at the root",
        ABJ,
        foreach({"merge": {"strategy": "append", "target": "got"}}),
        ALL_THREE,
        THREE,
        state={"got": [1, 2, 3]},
    ),
    Case(
        "an inner merge lands in the outer branch",
        {"a": T, "b": T, "c": T, "i": T, "j": T},
        [
            {"from": "a", "to": "b", "foreach": "output.xs", "group": "g"},
            {"from": "b", "to": "c", "spawn": 2, "group": "h"},
            {"from": "c", "to": "i", "synchronize": {"group": "h", "merge": {"target": "in"}}},
            {"from": "i", "to": "j", "synchronize": {"group": "g"}},
        ],
        ["a", "b@g0", "b@g1", "c@g0.h0", "c@g0.h1", "c@g1.h0", "c@g1.h1", "i@g0", "i@g1", "j"],
        {"a": out(xs=[5, 6])},
        state={},
        input=("j", [[{"in": [5, 5]}, {"in": [6, 6]}]]),
    ),
    Case(
        "several arrivals of a branch are an object by source",
        {"a": T, "b": T, "c": T, "d": T, "j": T},
        [
            {"from": "a", "to": "b", "group": "g"},
            {"from": "b", "to": "d"},
            {"from": "b", "to": "c"},
            *({"from": name, "to": "j", "synchronize": {"group": "g"}} for name in "dc"),
        ],
        ["a", "b@g0", "c@g0", "d@g0", "j"],
        {"c": Completed(1), "d": Completed(2)},
        input=("j", [[{"c": 1, "d": 2}]]),
    ),
    Case(
        "fan_in joins the innermost group",
        {**ABJ, "j": {"fan_in": "all", "merge": "last_wins"}},
        [{"from": "a", "to": "b", "foreach": "output.xs"}, {"from": "b", "to": "j"}],
        ["a", "b@a->b0", "b@a->b1", "b@a->b2", "j"],
        THREE,
        input=("j", [3]),
    ),
    Case(
        "a token outside the group passes through",
        ABCJ,
        [
            {"from": "a", "to": "b", "when": "output.x == 0", "group": "g"},
            {"from": "a", "to": "c", "default": True},
            *({"from": name, "to": "j", "synchronize": {"group": "g"}} for name in "bc"),
        ],
        ["a", "c", "j"],
        {"a": out(x=1)},
        input=("j", [{"x": 1}]),
    ),
    Case(
        "a branch that went elsewhere is not waited for",
        {**ABJ, "z": T},
        [*foreach(None, when="output > 1"), {"from": "b", "to": "z", "default": True}],
        ["a", "b@g0", "b@g1", "b@g2", "j", "z@g0"],
        THREE,
        input=("j", [[2, 3]]),
    ),
    Case(
        "if none arrived and none failed it does not fire",
        {**ABJ, "z": T},
        [*foreach(None, when="output > 9"), {"from": "b", "to": "z", "default": True}],
        ["a", "b@g0", "b@g1", "b@g2", "z@g0", "z@g1", "z@g2"],
        THREE,
        output={"z": [1, 2, 3]},
    ),
    Case(
        "an empty group fires at once",
        ABJ,
        foreach(None, when="false"),
        ["a", "j"],
        {"a": out(xs=[])},
        input=("j", [[]]),
    ),
    Case(
        "an empty last_wins is null",
        ABJ,
        foreach({"merge": "last_wins"}),
        ["a", "j"],
        {"a": out(xs=[])},
        input=("j", [None]),
    ),
    Case("an empty any fails", ABJ, foreach({"wait_for": "any"}), ["a"], {"a": out(xs=[])}, codes=(None,)),
    Case(
        "on_empty overrides any",
        ABJ,
        foreach({"wait_for": "any", "on_empty": "complete"}),
        ["a", "j"],
        {"a": out(xs=[])},
        input=("j", [[]]),
    ),
    Case("on_empty overrides all", ABJ, foreach({"on_empty": "fail"}), ["a"], {"a": out(xs=[])}, codes=(None,)),
    merging("append never flattens", "append", [[1], [2]], ([1], [2])),
    merging("collect is append", "collect", [[1], 2], ([1], 2)),
    merging("concat flattens one level", "concat", [1, [2]], ([1], [[2]])),
    merging("merge_object: the later index wins", "merge_object", {"p": 2, "q": 1}, ({"p": 1, "q": 1}, {"p": 2})),
    merging("keyed_by_branch by index", "keyed_by_branch", {"0": 5, "1": 6}, (5, 6)),
    merging(
        "keyed_by_branch by key, and a source",
        {"strategy": "keyed_by_branch", "key": "_branch.output.k", "source": "_branch.output.v"},
        {"x": 1, "y": 2},
        ({"k": "x", "v": 1}, {"k": "y", "v": 2}),
    ),
    merging("last_wins is the highest index", "last_wins", 6, (5, 6)),
    Case(
        "merge_object of no objects fails the target",
        ABCJ,
        split({"merge": "merge_object"}),
        ["a", "b@g0", "c@g1"],
        {"b": Completed(1)},
        codes=("MERGE_TYPE",),
    ),
    Case(
        "a failed branch fails the target, which may catch",
        {**ABCJ, "e": {"input": {"z": 1}}},
        [*split(), {"from": "j", "to": "e", "on": "error"}],
        ["a", "b@g0", "e"],
        {"b": BAD},
        maybe=["c@g1"],
    ),
    Case(
        "a failed join fails the run", ABCJ, split(), ["a", "c@g1"], {"c": BAD}, codes=(None, "E_BAD"), maybe=["b@g0"]
    ),
    Case(
        "settle merges the arrived",
        {**ABCJ, "j": {"input": {"lost": "_errors.g.map(e, e.index)"}}},
        split({"on_sibling_failure": "settle", "merge": {"target": "got"}}),
        ["a", "b@g0", "c@g1", "j"],
        {"b": BAD, "c": Completed(4)},
        state={"got": [4]},
        input=("j", [{"lost": [0]}]),
    ),
    Case(
        "settle fires even if all failed",
        ABCJ,
        split({"on_sibling_failure": "settle"}),
        ["a", "b@g0", "c@g1", "j"],
        {"b": BAD, "c": BAD},
        input=("j", [[]]),
    ),
    Case(
        "any: a failure does not fail it",
        ABCJ,
        split({"wait_for": "any"}),
        ["a", "c@g1", "j"],
        {"b": BAD, "c": Completed(4)},
        input=("j", [[4]]),
        maybe=["b@g0"],
    ),
    Case(
        "m_of_n that cannot be reached fails at once",
        ABJ,
        foreach({"wait_for": {"m_of_n": 4}}),
        ["a"],
        THREE,
        codes=("JOIN_UNREACHABLE",),
        maybe=["b@g0", "b@g1", "b@g2"],
    ),
    Case(
        "m_of_n: what made it unreachable surely ran",
        ABCJ,
        split({"wait_for": {"m_of_n": 2}}),
        ["a", "b@g0"],
        {"b": BAD},
        codes=("JOIN_UNREACHABLE",),
        maybe=["c@g1"],
    ),
    Case(
        "a group without a join fails its scope",
        {"a": T, "b": T},
        [{"from": "a", "to": "b", "spawn": 1}],
        ["a", "b@a->b0"],
        {"b": BAD},
        codes=("E_BAD",),
    ),
    Case(
        "branches of an unjoined group stay readable at the end",
        {"a": T, "b": {"output": {"v": "_branch.item"}}},
        [{"from": "a", "to": "b", "foreach": "output.xs", "group": "g"}],
        ["a", "b@g0", "b@g1", "b@g2"],
        THREE,
        {"output": {"all": "_branches.g.map(b, b.v)"}},
        output={"all": [1, 2, 3]},
    ),
    Case(
        "forks share a scope and meet in a named join, in declared order",
        DIAMOND,
        [*FORK, *MEET],
        ["a", "b", "c", "d"],
        {"b": Completed(1), "c": Completed(2)},
        input=("d", [{"b": 1, "c": 2}]),
    ),
    Case(
        "without wait_for_all one execution per arrival",
        {**DIAMOND, "d": T},
        [*FORK, *MEET],
        ["a", "b", "c", "d", "d"],
        {"b": Completed(1), "c": Completed(2)},
        {"output": {"r": 1}},
    ),
    Case(
        "a named join that nothing can wake fails",
        DIAMOND,
        [FORK[0], {**FORK[1], "when": "output.x == 2"}, *MEET],
        ["a", "b"],
        {"a": out(x=1)},
        codes=("JOIN_UNREACHABLE",),
    ),
    Case(
        "or proceeds with what arrived",
        {**DIAMOND, "d": {**DIAMOND["d"], "on_unreachable": "proceed"}},
        [FORK[0], {**FORK[1], "when": "output.x == 2"}, *MEET],
        ["a", "b", "d"],
        {"a": out(x=1), "b": Completed(1)},
        input=("d", [{"b": 1}]),
    ),
    Case(
        "a named join in each branch is its own",
        {"s": T, "j": T, **DIAMOND},
        [
            {"from": "s", "to": "a", "spawn": 2, "group": "g"},
            *FORK,
            *MEET,
            {"from": "d", "to": "j", "synchronize": {"group": "g"}},
        ],
        ["a@g0", "a@g1", "b@g0", "b@g1", "c@g0", "c@g1", "d@g0", "d@g1", "j", "s"],
    ),
    Case(
        "a loop goes back while its condition holds",
        loop(condition="loop.iteration < 3", max_iterations=5),
        L_EDGES,
        ["a", "l", "l", "l", "z"],
    ),
    Case(
        "at the limit the timeout path is taken",
        loop(max_iterations=2, timeout_path=["t"]),
        L_EDGES,
        ["a", "l", "l", "t"],
    ),
    Case(
        "the condition is asked first: success on the last try is success",
        loop(condition="loop.iteration < 2", max_iterations=2, timeout_path="t"),
        L_EDGES,
        ["a", "l", "l", "z"],
    ),
    Case(
        "no timeout path is an error",
        loop(max_iterations=2),
        L_EDGES,
        ["a", "l", "l"],
        codes=("LOOP_LIMIT",),
    ),
    Case(
        "an empty timeout path ends the token",
        loop(max_iterations=2, timeout_path=[]),
        L_EDGES,
        ["a", "l", "l"],
        output={"k": 1},
    ),
    Case(
        "break_path goes before the transitions",
        loop(condition="false", max_iterations=2, break_path="t"),
        L_EDGES,
        ["a", "l", "t"],
    ),
    Case(
        "a back-edge does not match at its limit",
        {"a": T, "b": T, "z": T},
        [
            {"from": "a", "to": "b"},
            {"from": "b", "to": "a", "max_iterations": 3},
            {"from": "b", "to": "z", "priority": 2},
        ],
        ["a", "a", "a", "b", "b", "b", "z"],
        more={"entry": "a"},
    ),
    Case(
        "the count is dropped when the loop is left: an outer round starts the inner loop anew",
        {
            "a": T,
            "l": {"loop": {"condition": "loop.iteration < 2", "max_iterations": 3}},
            "o": {"loop": {"condition": "loop.iteration < 2", "max_iterations": 3, "loop_back_to": "a"}},
        },
        [{"from": "a", "to": "l"}, {"from": "l", "to": "o"}],
        ["a", "a", "l", "l", "l", "l", "o", "o"],
    ),
    Case(
        "a group opened in every round is a new one",
        {"a": T, "b": T, "j": {"loop": {"condition": "loop.iteration < 2", "loop_back_to": "a", "max_iterations": 3}}},
        [
            {"from": "a", "to": "b", "spawn": 2, "group": "g"},
            {"from": "b", "to": "j", "synchronize": {"group": "g", "merge": "last_wins"}},
        ],
        ["a", "a", "b@g0", "b@g0", "b@g1", "b@g1", "j", "j"],
    ),
    Case(
        "a loop and a branch: the loop decides first, on break the branch routes",
        {
            "a": T,
            "l": {
                "loop": {"condition": "loop.iteration < 2", "max_iterations": 5},
                "branch": {"rules": [{"condition": "loop.iteration == 2", "next_nodes": "z"}], "default": "t"},
            },
            "z": T,
            "t": T,
        },
        L_EDGES[:1],
        ["a", "l", "l", "z"],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_rule(case: Case) -> None:
    check(case)


def test_any_takes_whichever_comes_first() -> None:
    prediction = predict(ABCJ, split({"wait_for": "any"}), {"b": Completed(1), "c": Completed(2)})
    assert not prediction.open
    assert [inputs(ending, "j") for ending in prediction.endings] == [[[1]], [[2]]]
    assert [maybe(ending) for ending in prediction.endings] == [["c@g1"], ["b@g0"]]


def test_two_of_three_take_every_pair_in_branch_order() -> None:
    prediction = predict(ABJ, foreach({"wait_for": {"m_of_n": 2}}), THREE)
    assert [inputs(ending, "j")[0] for ending in prediction.endings] == [[1, 2], [1, 3], [2, 3]]


def test_two_outer_branches_each_join_their_inner_group() -> None:
    edges = [
        {"from": "a", "to": "b", "spawn": 2, "group": "g"},
        {"from": "b", "to": "c", "spawn": 2, "group": "h"},
        {"from": "c", "to": "i", "synchronize": {"group": "h", "wait_for": "any"}},
        {"from": "i", "to": "j", "synchronize": {"group": "g"}},
    ]
    prediction = predict({"a": T, "b": T, "c": T, "i": T, "j": T}, edges, {})
    assert not prediction.open
    assert len(prediction.endings) == 4
    assert all(len(inputs(ending, "i")) == 2 for ending in prediction.endings)


def test_a_fork_that_fails_inside_a_branch_fails_the_branch() -> None:
    edges = [
        {"from": "a", "to": "b", "group": "g"},
        {"from": "b", "to": "c"},
        {"from": "b", "to": "d"},
        {"from": "d", "to": "j", "synchronize": {"group": "g", "on_sibling_failure": "settle"}},
    ]
    prediction = predict({"a": T, "b": T, "c": T, "d": T, "j": T}, edges, {"c": BAD})
    assert prediction.exact
    assert (ran(prediction.ending), maybe(prediction.ending)) == (["a", "b@g0", "c@g0", "j"], ["d@g0"])


def test_a_branch_that_reads_the_state_while_a_fork_writes_it_is_left_open() -> None:
    nodes = {"a": T, "w": {"output": {"s": "output.n"}}, "b": {"input": {"v": "has(state.s)"}}}
    prediction = predict(nodes, [{"from": "a", "to": "w"}, {"from": "a", "to": "b", "spawn": 2}], {})
    assert prediction.open


def test_a_script_that_counts_visits_sees_them_in_order() -> None:
    class Counting:
        counts_visits = True

        def __call__(self, asked: Asked) -> Answer:
            return Completed(asked.visit) if asked.visit < 3 else Failed("E_THIRD")

    nodes = {"a": {"loop": {"max_iterations": 5}}}
    prediction = Reference({"nodes": nodes, "transitions": []}, EVALUATOR).predict({}, Counting())
    assert prediction.ending.codes == ("E_THIRD",)
    assert inputs(prediction.ending, "a") == [{}, 1, 2]


def test_compensations_of_two_branches_have_no_order_between_them() -> None:
    undo = {"compensate": {"action": "undo"}}
    ending = predict({"a": undo, "b": undo, "c": undo, "j": T}, split(), {"j": BAD}).ending
    assert [(one.node, one.before) for one in ending.compensations] == [("a", ()), ("b", (0,)), ("c", (0,))]
