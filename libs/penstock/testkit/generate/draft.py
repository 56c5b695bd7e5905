"""A definition in the making, and the place in it where the next part goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct

from penstock.testkit.generate.features import Features
from penstock.testkit.generate.script import Behaviour

Json: TypeAlias = Any
_T = TypeVar("_T")


class Place(Struct, frozen=True):
    """What is true of every token that comes by here."""

    depth: int = 0
    """Groups around."""
    factor: int = 1
    """How often this may run, at most."""
    arm: bool = False
    """In an arm of a fork: others work in the same scope at the same time."""
    loop: bool = False
    known: tuple[str, ...] = ()
    """Tasks that have completed before, in this scope or around it."""
    keys: tuple[str, ...] = ()
    """What mappings have surely written in this scope."""
    items: bool = False
    """In a branch of a `foreach`."""

    @property
    def nested(self) -> bool:
        return self.depth > 1

    @property
    def together(self) -> bool:
        """Tokens must not go astray here: a join or the count of a loop depends on them."""
        return self.arm or self.loop


class Part(Struct, frozen=True):
    """A piece of graph with one way in and one way out."""

    first: str
    last: str
    known: tuple[str, ...] = ()
    """Tasks in it that complete whenever the way out is reached."""
    keys: tuple[str, ...] = ()


Sequence: TypeAlias = Callable[["Draft", Place, int], Part]
"""Makes up to so many parts in a row."""


class Draft:
    def __init__(self, random: Random, features: Features, budget: int) -> None:
        self.random = random
        self.features = features
        self.budget = budget
        self.nodes: dict[str, Json] = {}
        self.transitions: list[Json] = []
        self.behaviours: dict[str, Behaviour] = {}
        self.unjoined: list[str] = []
        self.scattered = False

    def node(self, prefix: str, **fields: Json) -> str:
        name = f"{prefix}{len(self.nodes)}"
        self.nodes[name] = fields
        self.budget -= 1
        return name

    def edge(self, source: str, to: str, **fields: Json) -> None:
        self.transitions.append({"from": source, "to": to, **fields})

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def pick(self, weights: Mapping[_T, int]) -> _T:
        """One of them, by its weight."""
        return self.random.choices(list(weights), list(weights.values()))[0]

    def definition(self, name: str, **fields: Json) -> Json:
        return {"name": name, "nodes": self.nodes, "transitions": self.transitions, **fields}
