"""Parts that choose: one token goes one of several ways, and mostly comes together again."""

from __future__ import annotations

from penstock.testkit.generate import words
from penstock.testkit.generate.draft import Draft, Json, Part, Place, Sequence
from penstock.testkit.generate.script import Behaviour
from penstock.testkit.generate.steps import task


def choice(draft: Draft, place: Place, sequence: Sequence) -> Part:
    opener = task(draft, place)
    ways = [sequence(draft, place, 2) for _ in range(draft.random.randrange(2, 4))]
    after = draft.node("m", type="pass", input={"n": "input.n"})
    for way in ways:
        if place.together or way is ways[0] or draft.chance(75):
            draft.edge(way.last, after)
    firsts = [way.first for way in ways]
    kind = draft.random.randrange(4)
    if kind == 0:
        _rules(draft, place, opener.first, firsts)
    elif kind == 1 and draft.features.agents and not _has_edges(draft, opener.first):
        _agent(draft, opener.first, firsts)
    else:
        _transitions(draft, place, opener.first, firsts)
    return Part(opener.first, after, opener.known, opener.keys)


def _rules(draft: Draft, place: Place, name: str, firsts: list[str]) -> None:
    rules: list[Json] = [{"condition": words.condition(draft, place), "next_nodes": [to]} for to in firsts[1:]]
    draft.nodes[name]["branch"] = {"rules": rules, "default": [firsts[0]]}


def _agent(draft: Draft, name: str, firsts: list[str]) -> None:
    draft.nodes[name]["type"] = "agent"
    draft.nodes[name].pop("workflow", None)
    branch = {"type": "agent_driven", "available_next_nodes": firsts, "default": [firsts[0]]}
    draft.nodes[name]["branch"] = branch
    wrong = ("nowhere",) if draft.features.failures and draft.chance(15) else ()
    draft.behaviours[name] = Behaviour(chooses=(*firsts, *wrong))


def _transitions(draft: Draft, place: Place, name: str, firsts: list[str]) -> None:
    """At most one of them matches: each has its own tier, or only the first match counts."""
    node = draft.nodes[name]
    first_match = draft.chance(40)
    if first_match:
        node["fan_out"] = "first_match"
    if draft.features.raising and draft.chance(20):
        node["on_condition_error"] = "no_match"
    for priority, to in enumerate(firsts[1:], start=1):
        tier: dict[str, Json] = {} if first_match else {"priority": priority}
        draft.edge(name, to, when=words.condition(draft, place), **tier)
    ending = draft.random.randrange(10)
    if ending == 0 and draft.features.failures:
        draft.edge(name, firsts[0], when=words.likely(draft), priority=9)
    elif ending == 1 and not place.together:
        draft.edge(name, firsts[0], when=words.likely(draft), priority=9)
        node["on_no_match"] = "end"
    else:
        draft.edge(name, firsts[0], **draft.random.choice(({"default": True}, {"priority": 9})))


def _has_edges(draft: Draft, name: str) -> bool:
    return any(edge["from"] == name for edge in draft.transitions)
