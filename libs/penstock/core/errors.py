"""The root of every error Penstock raises on purpose.

    PenstockError
    ├── penstock.core      DomainError …     a decision was refused
    ├── penstock.expr      ExprError …       an expression or script is wrong
    ├── penstock.fabric    FabricError …     JetStream, blobs, ownership
    └── penstock.kit       ConfigError …     how a process was started

An error class is its own documentation: the first paragraph of its docstring is the message, with the
attributes filled in; the second says what to do next; `code` is stable and has a page in `docs/errors/`.
"""

from __future__ import annotations

from inspect import cleandoc
from typing import ClassVar, Self


class PenstockError(Exception):
    """Something went wrong that Penstock did not foresee.

    Please report it with the log of the process.
    """

    code: ClassVar[str] = "INTERNAL"
    retryable: ClassVar[bool] = False

    def __init__(self, **attributes: object) -> None:
        super().__init__()
        self.attributes = attributes

    @property
    def message(self) -> str:
        return self._paragraph(0).format_map(self.attributes)

    @property
    def hint(self) -> str:
        """What the reader should do next."""
        return self._paragraph(1).format_map(self.attributes)

    @classmethod
    def _paragraph(cls, index: int) -> str:
        paragraphs = cleandoc(cls.__doc__ or "").split("\n\n")
        return " ".join(paragraphs[index].split()) if index < len(paragraphs) else ""

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.attributes))

    @classmethod
    def family(cls) -> list[type[Self]]:
        """This class and all below it, parents first: what tables of codes are made from."""
        return [cls, *(error for child in cls.__subclasses__() for error in child.family())]


def _rebuild(error: type[PenstockError], attributes: dict[str, object]) -> PenstockError:
    return error(**attributes)
