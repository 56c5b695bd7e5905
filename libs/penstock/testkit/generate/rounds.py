"""Parts that go round: loops of a node, loops back to an earlier one, back-edges."""

from __future__ import annotations

from msgspec.structs import replace

from penstock.testkit.generate import words
from penstock.testkit.generate.draft import Draft, Json, Part, Place, Sequence
from penstock.testkit.generate.steps import task

CONDITIONS = ("loop.iteration < 3", "output.n < 5", "output.ok", "output.n != 3 && loop.iteration < 4")


def rounds(draft: Draft, place: Place, sequence: Sequence) -> Part:
    limit = draft.random.randrange(2, 5)
    inside = replace(place, factor=place.factor * limit, loop=True)
    if draft.chance(35):
        return _back_edge(draft, inside, sequence, limit)
    body = sequence(draft, inside, 2) if draft.chance(50) else None
    loop: dict[str, Json] = {"condition": draft.random.choice(CONDITIONS), "max_iterations": limit}
    if body:
        loop["loop_back_to"] = body.first
    looping = task(draft, inside, loop=loop)
    if body:
        draft.edge(body.last, looping.first)
    first = body.first if body else looping.first
    return _leave(draft, place, Part(first, looping.last, looping.known, looping.keys), loop)


def _leave(draft: Draft, place: Place, part: Part, loop: dict[str, Json]) -> Part:
    """What happens at the limit, and on the way out."""
    after = draft.node("m", type="pass")
    if draft.chance(30):
        loop["break_path"] = [after]
    else:
        draft.edge(part.last, after)
    if draft.chance(40) or not draft.features.failures:
        late = task(draft, place, mapped=True, safe=True)
        loop["timeout_path"] = [late.first]
        if place.together or draft.chance(60):
            draft.edge(late.last, after)
    elif draft.chance(30) and not place.arm:
        loop["timeout_path"] = []
    return Part(part.first, after, part.known, part.keys)


def _back_edge(draft: Draft, inside: Place, sequence: Sequence, limit: int) -> Part:
    body = sequence(draft, inside, 2)
    turning = task(draft, inside)
    draft.edge(body.last, turning.first)
    after = draft.node("m", type="pass")
    draft.edge(turning.last, body.first, when=words.likely(draft), max_iterations=limit)
    draft.edge(turning.last, after, **draft.random.choice(({"default": True}, {"priority": 2})))
    return Part(body.first, after, turning.known, turning.keys)
