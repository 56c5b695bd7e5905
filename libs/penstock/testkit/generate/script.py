"""The script of a generated run: answers from a hash of everything asked, so a wrong input shows at once."""

from __future__ import annotations

from zlib import crc32

from msgspec import Struct
from msgspec.json import encode

from penstock.testkit.reference import Answer, Asked, Completed, Decided, Failed


class Behaviour(Struct, frozen=True):
    """How one node behaves. Plain data, so that a failing case can be saved with its script."""

    fails: int = 0
    """Out of 100 visits; 100 is always."""
    code: str = "E_TASK"
    flaky: int = 0
    """Every visit fails that many times before it answers, retryable."""
    chooses: tuple[str, ...] = ()
    """What an agent picks from."""
    decides: bool = False


class GeneratedScript(Struct, frozen=True):
    """Outputs are `{n, ok, word, xs}`: 0 to 9, a flag, a word, up to three numbers."""

    seed: int
    behaviours: dict[str, Behaviour]
    counts_visits: bool = False

    def __call__(self, asked: Asked) -> Answer:
        behaviour = self.behaviours.get(asked.node, Behaviour())
        text = encode((self.seed, asked.node, asked.path, asked.input), order="sorted")
        chance = crc32(text)
        if behaviour.decides:
            return Decided(approved=chance % 4 != 0)
        if asked.attempt <= behaviour.flaky:
            return Failed("E_FLAKY", retryable=True)
        if chance % 100 < behaviour.fails:
            return Failed(behaviour.code)
        # The low bits of a CRC are linear in the text; another round makes fields independent of each other.
        chance = crc32(text, chance)
        output = {
            "n": chance % 10,
            "ok": chance >> 8 & 1 == 1,
            "word": ("red", "green", "blue")[(chance >> 10) % 3],
            "xs": [(chance >> shift) % 7 for shift in range(12, 12 + (chance >> 24) % 4)],
        }
        return Completed(output, self._picked(behaviour.chooses, chance >> 4))

    def _picked(self, chooses: tuple[str, ...], chance: int) -> tuple[str, ...]:
        if not chooses or chance % 5 == 0:
            return ()
        return (chooses[chance % len(chooses)],)
