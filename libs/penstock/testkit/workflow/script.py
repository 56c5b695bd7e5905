"""Who answers what in a tested run: by node, and by default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, TypeAlias

from msgspec.json import encode

from penstock.core.graph.program import Program
from penstock.testkit.workflow.answers import Answer, Ask, Decided, Given, Json, Kind, Later, Never, Returned, answered
from penstock.testkit.workflow.chance import Chance
from penstock.testkit.workflow.errors import AnswersUsedUp, AnswerUnfit, NodeUnknown, NodeUnscripted

_VERBS: dict[Kind, str] = {"verdict": "on_condition({node!r}, True)", "undo": "on_undo({node!r}, …)"}
_TAKES: dict[Kind, str] = {
    "decision": "`approves(by)`, `rejects(by)`, `takes(duration, …)` of these, or `never()`",
    "signal": "the payload of the signal, `takes(duration, payload)` or `never()`",
    "verdict": "True or False, or `fails(code)`",
}
_SHOWN = 200

Table: TypeAlias = dict[tuple[Kind, str], "Answers"]


class Answers:
    """Of one node. A single answer holds for ever; of several, each is given once."""

    def __init__(self, node: str, given: tuple[Given, ...]) -> None:
        self._node = node
        self._given = given
        self._used = 0

    def next(self) -> Given:
        if len(self._given) == 1:
            return self._given[0]
        if self._used == len(self._given):
            raise AnswersUsedUp(node=self._node, count=len(self._given))
        self._used += 1
        return self._given[self._used - 1]

    def copy(self) -> Answers:
        return Answers(self._node, self._given)


class Script:
    """What `on…` adds to; of a workflow, and then of each of its runs."""

    def __init__(self, nodes: Callable[[], frozenset[str]]) -> None:
        self._nodes = nodes
        self._table: Table = {}
        self._any: Given | None = None
        self._chance: Chance | None = None
        self.drawn: dict[str, None] = {}
        """Nodes that chance has answered for."""

    def copy(self, nodes: Callable[[], frozenset[str]]) -> Script:
        script = Script(nodes)
        script._table = {key: answers.copy() for key, answers in self._table.items()}
        script._any = self._any
        script._chance = self._chance and Chance(self._chance.seed)
        return script

    def add(self, kinds: tuple[Kind, ...], node: str, given: tuple[Given, ...]) -> None:
        if node not in (known := self._nodes()):
            raise NodeUnknown(node=node, known=", ".join(sorted(known)))
        answers = Answers(node, given or (None,))
        self._table.update({(kind, node): answers for kind in kinds})

    def add_any(self, given: Given) -> None:
        self._any = answered(given) if not callable(given) else given

    def add_chance(self, seed: int) -> None:
        self._chance = Chance(seed)

    def fall_back_to(self, other: Script) -> None:
        """A child's: what is not scripted there is answered as in the run that started it."""
        self._any = other._any if self._any is None else self._any
        self._chance = self._chance or other._chance

    def has(self, kind: Kind, node: str) -> bool:
        return (kind, node) in self._table

    def pick(self, count: int) -> int:
        """Which of several that could be answered now is first."""
        return self._chance.below(count) if self._chance else 0

    def answer(self, ask: Ask, program: Program) -> Answer:
        """Raises `ScriptError` if there is none, or none that fits."""
        given = self._find(ask, program)
        answer = answered(given(ask) if callable(given) else given)
        if not _fits(ask.kind, answer):
            takes = _TAKES.get(ask.kind, "an output, `fails(code)`, `takes(duration, …)` of these, or `never()`")
            raise AnswerUnfit(node=ask.node, kind=ask.kind, answer=repr(answer), takes=takes)
        return answer

    def _find(self, ask: Ask, program: Program) -> Given:
        answers = self._table.get((ask.kind, ask.node))
        if answers is not None:
            return answers.next()
        if self._any is not None and ask.kind in {"task", "child"}:
            return self._any
        if self._chance is not None:
            self.drawn[ask.node] = None
            return self._chance.answer(ask, program)
        if ask.kind in {"decision", "signal"}:
            return Never()  # people take their time
        if ask.kind == "undo":
            return Returned()
        verb = _VERBS.get(ask.kind, "on({node!r}, …)").format(node=ask.node)
        raise NodeUnscripted(node=ask.node, kind=ask.kind, input=_short(ask.input), verb=verb)


class Scripted:
    """The verbs of a script, for whoever has one."""

    script: Script

    def on(self, node: str, *answers: Given) -> Self:
        """What comes of `node`: one answer for every attempt, or several, one for each attempt in turn.

        An answer is a plain output, `fails`, `chooses`, `takes` or `never`, or a function of the `Ask` that gives one
        of these. Of a node that waits for a signal, it is the signal's payload; of a person, `approves` or `rejects`.
        """
        self.script.add(("task", "decision", "child", "signal"), node, answers)
        return self

    def on_any(self, answer: Given) -> Self:
        """What comes of tasks and children that are not scripted."""
        self.script.add_any(answer)
        return self

    def on_condition(self, node: str, *verdicts: bool | Callable[[Ask], Any] | Answer) -> Self:
        """What user code in the conditions after `node` finds; a function sees `{output, nodes}` as its input."""
        self.script.add(("verdict",), node, verdicts)
        return self

    def on_undo(self, node: str, *answers: Given) -> Self:
        """What comes of compensating `node`; unless scripted, it works."""
        self.script.add(("undo",), node, answers)
        return self

    def at_random(self, seed: int) -> Self:
        """Whatever is not scripted is drawn, as is the order of work; people approve."""
        self.script.add_chance(seed)
        return self


def _fits(kind: Kind, answer: Answer) -> bool:
    match answer:
        case Never():
            return True
        case Later(answer=later):
            return kind not in {"verdict", "undo"} and _fits(kind, later)
        case Decided():
            return kind == "decision"
        case Returned(output=output, next_nodes=chosen):
            chooses = chosen is None or kind == "task"
            return chooses and kind != "decision" and (kind != "verdict" or isinstance(output, bool))
        case _:
            return kind not in {"decision", "signal"}


def _short(value: Json) -> str:
    text = encode(value).decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
