"""Parts that work side by side: forks that meet in a named join, and groups of branches with or without a join."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from penstock.testkit.generate import words
from penstock.testkit.generate.draft import Draft, Json, Part, Place, Sequence
from penstock.testkit.generate.steps import catch_join, task


def fork(draft: Draft, place: Place, sequence: Sequence) -> Part:
    opener = task(draft, place)
    inside = replace(place, arm=True, known=(*place.known, *opener.known))
    arms = [sequence(draft, inside, 2) for _ in range(draft.random.randrange(2, 4))]
    optional = draft.chance(25)
    if optional or draft.chance(60):
        for number, arm in enumerate(arms):
            when = {"when": words.condition(draft, place)} if optional and number else {}
            draft.edge(opener.last, arm.first, **when)
    else:
        draft.nodes[opener.last]["dependents"] = [arm.first for arm in arms]
    lasts = [arm.last for arm in arms]
    meeting = task(draft, place, wait_for_all=True, dependencies=lasts)
    if optional or not draft.features.failures or draft.chance(30):
        draft.nodes[meeting.first]["on_unreachable"] = draft.pick({"proceed": 2, "fail": int(draft.features.failures)})
    for last in lasts:
        draft.edge(last, meeting.first)
    return Part(opener.first, meeting.last, (*opener.known, *meeting.known), (*opener.keys, *meeting.keys))


def entries(draft: Draft, place: Place) -> Part:
    """Two nodes where runs start, and where they meet."""
    starts = [task(draft, replace(place, arm=True)) for _ in range(2)]
    meeting = task(draft, place, wait_for_all=True, dependencies=[start.last for start in starts])
    for start in starts:
        draft.edge(start.last, meeting.first)
    return Part(starts[0].first, meeting.last, (*starts[0].known, *meeting.known), meeting.keys)


def scatter(draft: Draft, place: Place) -> Part:
    """Forks that do not meet: what follows runs once per arrival, so only simple things follow."""
    draft.scattered = True
    opener = task(draft, place)
    after = draft.node("x", input={"n": "input.n"})
    for _ in range(2):
        arm = task(draft, replace(place, arm=True))
        draft.edge(opener.last, arm.first)
        draft.edge(arm.last, after)
    end = draft.node("x")
    draft.edge(after, end)
    return Part(opener.first, end)


def group(draft: Draft, place: Place, sequence: Sequence) -> Part:
    """A group and its join."""
    opener = task(draft, place)
    opened = _open(draft, place, opener.last, sequence)
    meeting = task(draft, place)
    join = {**_needed(draft, opened.most), "merge": _merge(draft, meeting.first)}
    if "wait_for" not in join and draft.features.failures and draft.chance(40):
        join["on_sibling_failure"] = "settle"
    if draft.chance(10):
        join["on_empty"] = draft.random.choice(("complete", "fail")) if draft.features.failures else "complete"
    if draft.chance(15):
        join["on_early_complete"] = "abandon"
    if draft.chance(25):
        draft.nodes[meeting.first]["fan_in"] = join
        join = {}
    else:
        join = {"synchronize": {**opened.named, **join}}
    for last in opened.lasts:
        draft.edge(last, meeting.first, **join)
    if draft.chance(35):
        return Part(opener.first, catch_join(draft, place, meeting.last), opener.known, opener.keys)
    return Part(opener.first, meeting.last, (*opener.known, *meeting.known), (*opener.keys, *meeting.keys))


def unjoined(draft: Draft, place: Place, sequence: Sequence) -> Part:
    """A group whose branches just end: the last part of a definition."""
    opener = task(draft, place)
    name = f"g{len(draft.nodes)}"
    inside = _inside(place, items=True)
    body = sequence(draft, inside, 2)
    end = task(draft, inside, safe=True)
    draft.nodes[end.last]["output"] = {"told": "_branch.index"}
    draft.edge(body.last, end.first)
    draft.edge(opener.last, body.first, foreach="output.xs", group=name)
    draft.unjoined.append(name)
    return Part(opener.first, end.last)


class _Opened(Struct, frozen=True):
    lasts: list[str]
    """The last nodes of the bodies."""
    named: dict[str, Json]
    """How a join names the group."""
    most: int
    """Branches there can be; of a `foreach` there may be none."""


def _open(draft: Draft, place: Place, opener: str, sequence: Sequence) -> _Opened:
    kind = draft.pick({"foreach": 5, "spawn": 2, "group": 2, "fan_out": 2})
    name = f"g{len(draft.nodes)}"
    named = {"group": name}
    inside = _inside(place, items=kind == "foreach")
    bodies = [sequence(draft, inside, 2) for _ in range(1 if kind in {"foreach", "spawn"} else 2)]
    most = len(bodies)
    if kind == "foreach":
        most = 2
        source = "output.n" if draft.features.raising and draft.chance(4) else "output.xs"
        foreach = {"in": source, "item": "it"} if draft.chance(20) else source
        draft.edge(opener, bodies[0].first, foreach=foreach, group=name)
    elif kind == "spawn":
        most = draft.random.choice((1, 2, 2, 3))
        named = {"joins_transition": f"to-{name}"}
        draft.edge(opener, bodies[0].first, spawn=most, id=f"to-{name}")
    elif kind == "group":
        for body in bodies:
            draft.edge(opener, body.first, group=name)
    else:
        named = {"group": opener}
        draft.nodes[opener]["fan_out"] = "all"
        for body in bodies:
            when = {"when": words.condition(draft, place)} if draft.chance(25) and body is not bodies[0] else {}
            draft.edge(opener, body.first, **when, priority=draft.random.randrange(1, 3))
    return _Opened([body.last for body in bodies], named, most)


def _inside(place: Place, *, items: bool) -> Place:
    return replace(place, depth=place.depth + 1, factor=place.factor * 3, arm=False, loop=False, keys=(), items=items)


def _needed(draft: Draft, most: int) -> dict[str, Json]:
    if not draft.features.choices or not draft.chance(20):
        return {}
    return {"wait_for": "any"} if draft.chance(50) else {"wait_for": {"m_of_n": draft.random.randrange(most) + 1}}


def _merge(draft: Draft, node: str) -> Json:
    """Branches end with anything. What is no object fails `merge_object`; what `concat` does with no list is open."""
    weights = {"append": 3, "collect": 1, "concat": 1, "keyed_by_branch": 2, "last_wins": 1}
    strategy = draft.pick({**weights, "merge_object": int(draft.features.failures)})
    merge: dict[str, Json] = {"strategy": strategy}
    if draft.features.mappings and draft.chance(50):
        merge["target"] = f"m_{node}"
    if strategy == "concat":
        merge["source"] = "[_branch.index, 7]"
    if strategy in {"append", "keyed_by_branch"} and draft.chance(30):
        merge["source"] = "_branch.index * 2"
    if strategy == "keyed_by_branch" and draft.chance(40):
        merge["key"] = "'b' + string(_branch.index)"
    return merge if len(merge) > 1 else strategy
