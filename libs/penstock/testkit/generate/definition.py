"""Random definitions from a seed: parts in a row, parts inside parts, always accepted by the compiler."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from penstock.testkit.generate.draft import Draft, Json, Part, Place, Sequence
from penstock.testkit.generate.features import Features
from penstock.testkit.generate.parallel import entries, fork, group, scatter, unjoined
from penstock.testkit.generate.rounds import rounds
from penstock.testkit.generate.script import GeneratedScript
from penstock.testkit.generate.steps import step
from penstock.testkit.generate.ways import choice

ROOM = 4
"""Nodes left that a part of several nodes needs."""
MAX_FACTOR = 30
"""How often one node may run at most: keeps runs to a few hundred executions."""


class Generated(Struct, frozen=True):
    seed: int
    definition: Json
    input: Json
    script: GeneratedScript


def definition(seed: int, size: int = 10, features: Features | None = None) -> Generated:
    """About `size` nodes; the same for the same arguments."""
    random = Random(seed)  # noqa: S311 - a repeatable definition, not a secret
    draft = Draft(random, features or Features(), size)
    place = Place()
    last = entries(draft, place) if draft.features.forks and draft.chance(10) else _part(draft, place)
    while draft.budget > 0:
        place = _after(place, last)
        last = _join_up(draft, last, _part(draft, place))
    _end(draft, _after(place, last), last)
    return Generated(
        seed,
        draft.definition(f"generated-{seed}", **_around(draft)),
        {"n": random.randrange(10), "flag": draft.chance(50)},
        GeneratedScript(seed, draft.behaviours),
    )


def sequence(draft: Draft, place: Place, most: int) -> Part:
    """Up to so many parts in a row; fewer once the budget is spent."""
    part = _part(draft, place)
    for _ in range(draft.random.randrange(most)):
        if draft.budget <= 0:
            break
        part = _join_up(draft, part, _part(draft, _after(place, part)))
    return part


def _join_up(draft: Draft, part: Part, following: Part) -> Part:
    draft.edge(part.last, following.first)
    return Part(part.first, following.last, (*part.known, *following.known), (*part.keys, *following.keys))


def _part(draft: Draft, place: Place) -> Part:
    features = draft.features
    if draft.budget < ROOM:
        return step(draft, place)
    multiplies = place.factor * 3 <= MAX_FACTOR
    makers: dict[Callable[[Draft, Place, Sequence], Part], int] = {
        group: 18 * (features.groups and multiplies and place.depth < features.nesting),
        rounds: 12 * (features.loops and multiplies),
        fork: 14 * (features.forks and (features.races or not place.arm)),
        choice: 16 * features.conditions,
        lambda draft, place, _: step(draft, place): 40,
    }
    return draft.pick(makers)(draft, place, sequence)


def _end(draft: Draft, place: Place, last: Part) -> None:
    """Sometimes what can only come last."""
    kind = draft.pick({"nothing": 85, "unjoined": 10 * draft.features.groups, "scatter": 5 * draft.features.forks})
    if kind == "unjoined":
        draft.edge(last.last, unjoined(draft, place, sequence).first)
    elif kind == "scatter":
        draft.edge(last.last, scatter(draft, place).first)


def _after(place: Place, part: Part) -> Place:
    return replace(place, known=(*place.known, *part.known), keys=(*place.keys, *part.keys))


def _around(draft: Draft) -> dict[str, Json]:
    """Fields of the workflow itself."""
    fields: dict[str, Json] = {}
    if draft.chance(20):
        fields["state"] = {"base": 1}
    if draft.features.raising and draft.chance(5):
        fields["state_schema"] = {"properties": {"log": {"maxItems": 1}}}
    if draft.unjoined and draft.chance(50):
        name = f"_branches.{draft.unjoined[0]}"
        fields["output"] = {"told": f"has({name}) ? {name} : []", "state": "state"}
    elif draft.scattered or draft.chance(30):
        fields["output"] = {"n": "input.n", "state": "state"}
    return fields
