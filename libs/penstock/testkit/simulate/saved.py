"""A failure as a file: the definition, the script and the schedule, so that it fails anywhere and for ever."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from penstock.testkit.generate import GeneratedScript
from penstock.testkit.simulate.case import Case
from penstock.testkit.simulate.schedule import Step


class Saved(msgspec.Struct, frozen=True):
    problem: str
    definition: Any
    input: Any
    script: GeneratedScript
    steps: list[Step]

    def case(self) -> Case:
        return Case(self.definition, self.input, self.script)

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=1))

    @classmethod
    def read(cls, path: Path) -> Saved:
        return msgspec.json.decode(path.read_bytes(), type=cls)
