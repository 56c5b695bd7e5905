"""Parts with one token in and one out: work, its retries and failures, approvals, waits."""

from __future__ import annotations

from penstock.testkit.generate import words
from penstock.testkit.generate.draft import Draft, Json, Part, Place
from penstock.testkit.generate.script import Behaviour

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 8}}}
UNDO = {"action": "undo"}


def step(draft: Draft, place: Place) -> Part:
    """One of the parts below."""
    features = draft.features
    kinds = {
        task: 66,
        inline: 10,
        guarded: 14 * features.failures,
        approval: 5 * features.humans,
        pause: 5 * features.waits,
    }
    return draft.pick(kinds)(draft, place)


def task(draft: Draft, place: Place, *, mapped: bool = False, safe: bool = False, **fields: Json) -> Part:
    """`mapped`: its input must not depend on the payload. `safe`: it does not fail."""
    features, chance = draft.features, draft.chance
    if mapped or (features.mappings and chance(35)):
        fields.setdefault("input", words.given(draft, place))
    if features.compensation and chance(30):
        fields["compensate"] = UNDO
    if features.children and chance(10) and not fields.keys() & {"branch", "loop"}:
        fields["workflow"] = "child"
    if features.raising and not safe and chance(3):
        fields["output_schema"] = SCHEMA
    name = draft.node("t", **fields)
    keys: tuple[str, ...] = ()
    if features.mappings and chance(35):
        draft.nodes[name]["output"], keys = words.written(draft, place, name)
    _behave(draft, name, safe=safe)
    return Part(name, name, (name,), keys)


def _behave(draft: Draft, name: str, *, safe: bool) -> None:
    flaky = 0
    if draft.features.retries and "workflow" not in draft.nodes[name] and draft.chance(15):
        flaky = draft.random.randrange(1, 3)
        draft.nodes[name]["retry"] = {"max_attempts": flaky + 1, "delay": 1, "backoff": "linear"}
        if draft.features.failures and not safe and draft.chance(15):
            flaky += 1
    fails = draft.random.choice((20, 100)) if draft.features.failures and not safe and draft.chance(5) else 0
    if flaky or fails:
        draft.behaviours[name] = Behaviour(fails, f"E_{name.upper()}", flaky)


def inline(draft: Draft, place: Place) -> Part:
    fields = {"input": words.given(draft, place)} if draft.features.mappings and draft.chance(50) else {}
    name = draft.node("p", type="pass", **fields)
    return Part(name, name)


def guarded(draft: Draft, place: Place) -> Part:
    """A task that often fails, and somebody who catches it: by the way of errors or by asking for the last one."""
    name = task(draft, place).first
    draft.nodes[name].pop("workflow", None)
    draft.behaviours[name] = Behaviour(draft.random.choice((40, 100)), "E_CAUGHT")
    seen = {"code": "state._last_error.code", "node": "state._last_error.node", "tries": "state._last_error.attempt"}
    handler = task(draft, place, safe=True, input=words.given(draft, place, **seen)).first
    if draft.chance(30):
        draft.edge(name, handler, when=words.CAUGHT)
    else:
        when = {"when": 'state._last_error.code == "E_CAUGHT"'} if draft.chance(30) else {}
        draft.edge(name, handler, on="error", **when)
    return Part(name, _after(draft, place, name, handler))


def catch_join(draft: Draft, place: Place, node: str) -> str:
    """Somebody who catches the failure of a join; which code that has, the rules do not say."""
    handler = task(draft, place, mapped=True, safe=True).first
    draft.edge(node, handler, on="error")
    return _after(draft, place, node, handler)


def _after(draft: Draft, place: Place, name: str, handler: str) -> str:
    """Where the two ways meet again, unless the handler ends it."""
    after = draft.node("m", type="pass", input={"n": "input.n"})
    draft.edge(name, after)
    if place.together or draft.chance(70):
        draft.edge(handler, after)
    return after


def approval(draft: Draft, place: Place) -> Part:
    name = draft.node("h", type="human", human={"approvers": ["ann"]}, input={"n": "input.n"})
    draft.behaviours[name] = Behaviour(decides=True)
    after = task(draft, place, mapped=True)
    draft.edge(name, after.first)
    if not draft.features.failures or draft.chance(80):
        refused = task(draft, place, mapped=True, safe=True)
        draft.nodes[name]["rejection_path"] = [refused.first]
        if place.together or draft.chance(60):
            draft.edge(refused.last, after.first)
    return Part(name, after.last, after.known, after.keys)


def pause(draft: Draft, place: Place) -> Part:
    if draft.chance(50):
        name = draft.node("w", type="wait", wait={"duration": draft.random.choice((1, 60, 86_400))})
    else:
        name = draft.node("w", type="wait", wait={"signal": "go"})
    after = task(draft, place, mapped=True)
    draft.edge(name, after.first)
    return Part(name, after.last, after.known, after.keys)
