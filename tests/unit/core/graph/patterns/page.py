"""`docs/reference/patterns.md` as data: its table, and the definitions it shows."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from penstock.core.model import commands as c
from penstock.notation import read_text
from tests.unit.core.graph.drive import Drive

Json: TypeAlias = Any

TEXT = (Path(__file__).parents[5] / "docs" / "reference" / "patterns.md").read_text()


class Row(NamedTuple):
    number: int
    name: str
    support: str
    how: str


def rows() -> list[Row]:
    found = re.findall(r"^\| (\d+) \| (.+?) \| (.+?) \| (.+) \|$", TEXT, re.MULTILINE)
    return [Row(int(number), *cells) for number, *cells in found]


def examples() -> dict[int, tuple[str, Json]]:
    """By number: the name in the heading, and the definition under it."""
    found = re.findall(r"^### WCP-(\d+) (.+?)\n.*?^```yaml\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
    return {int(number): (name, read_text(text).data) for number, name, text in found}


def example(number: int, given: Json = None) -> Drive:
    """A run of the page's example, started."""
    return Drive(examples()[number][1], given).start()


def flow(*ways: str, given: Json = None, state: Json = None, **nodes: Json) -> Drive:
    """A run of ways such as `a -> b -> c`; of nodes given by name, what they say besides."""
    paths = [way.split(" -> ") for way in ways]
    names = list(dict.fromkeys(name for path in paths for name in path))
    definition = {
        "name": "w",
        "state": state or {},
        "nodes": {name: nodes.get(name, {}) for name in names},
        "transitions": [{"from": a, "to": b} for path in paths for a, b in pairwise(path)],
    }
    return Drive(definition, given).start()


def graph(nodes: Json, *transitions: Json, given: Json = None) -> Drive:
    return Drive({"name": "w", "nodes": nodes, "transitions": list(transitions)}, given).start()


def signal(run: Drive, name: str, payload: Json = None) -> Drive:
    return run.send(c.SendSignal(f"s{len(run.log)}", name, payload))


def open_nodes(run: Drive) -> list[str]:
    return [task.node for task in run.open()]
