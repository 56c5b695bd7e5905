"""Expressions: conditions and mappings over what is surely there, from a small stock that compiles once."""

from __future__ import annotations

from penstock.testkit.generate.draft import Draft, Json, Place

LIKELY = ("output.n < 8", "output.n != 5", 'output.word != "red"', "size(output.xs) < 3", "input.n >= 0")
EVEN = ("output.ok", "output.n % 2 == 0", "output.n < input.n", "size(output.xs) > 1", "input.flag")
NEVER = ("output.n > 9", "input.n < 0", "false")
RAISING = ("output.missing > 1", "output.word > 3", "output.xs[7] == 1")
CAUGHT = 'has(state._last_error) && state._last_error.code != "E_OTHER"'


def condition(draft: Draft, place: Place) -> str:
    """True, false, or now and then a failure."""
    if draft.features.raising and draft.chance(4):
        return draft.random.choice(RAISING)
    if place.known and draft.chance(15):
        return f"nodes.{draft.random.choice(place.known)}.output.n > 3"
    if place.depth and draft.chance(20):
        return draft.random.choice(("_branch.index == 0", "_branch.index < _branch.total - 1"))
    if place.keys and not place.depth and draft.chance(20):
        return f"state.{draft.random.choice(place.keys)} >= 2"
    return draft.random.choice((*LIKELY, *EVEN, *EVEN, *NEVER))


def likely(draft: Draft) -> str:
    return draft.random.choice(LIKELY)


def given(draft: Draft, place: Place, **more: Json) -> Json:
    """An input mapping."""
    fields: dict[str, Json] = {"n": "input.n", **more}
    if place.known and draft.chance(60):
        fields["seen"] = f"nodes.{draft.random.choice(place.known)}.output.n"
    if place.keys and draft.chance(50):
        root = "_branch.output" if place.depth else "state"
        fields["kept"] = f"{root}.{draft.random.choice(place.keys)}"
    if place.depth and draft.chance(50):
        fields["index"] = "_branch.index + _branch.total"
    if place.items and draft.chance(50):
        fields["item"] = "_branch.item"
    if place.nested and draft.chance(30):
        fields["outer"] = "_branch.parent.index"
    if draft.features.races and draft.chance(20):
        fields["log"] = "has(state.log) ? size(state.log) : 0"
    return fields


def written(draft: Draft, place: Place, node: str) -> tuple[Json, tuple[str, ...]]:
    """An output mapping, and what it surely leaves behind."""
    key = f"v_{node}"
    alone = not place.arm or draft.features.races
    kind = draft.pick({"plain": 2, "two": 1, "append": int(alone), "delete": int(alone and bool(place.keys))})
    if kind == "append":
        return {"append": {"log": "output.n"}, "set": {key: "output.n"}}, (key,)
    if kind == "delete":
        return {"set": {key: "output.n"}, "delete": [f"{draft.random.choice(place.keys)}_copy"]}, (key,)
    return {key: "output.n", **({f"{key}_copy": "output.word"} if kind == "two" else {})}, (key,)
