"""What goes wrong inside the interpreter, with offsets into the source instead of lines.

`compile_ale` and `AleProgram` turn these into the errors of `penstock.expr.errors`; none of them leaves the package.
"""

from __future__ import annotations


class SourceError(Exception):
    """The source is not a program: refused before it can run."""

    def __init__(self, at: int, reason: str, expected: str) -> None:
        super().__init__(reason)
        self.at = at
        self.reason = reason
        self.expected = expected


class ComplexityError(SourceError):
    """The source is larger or deeper than its limit."""

    def __init__(self, at: int, reason: str, limit: str) -> None:
        super().__init__(at, reason, f"at most {limit}")
        self.limit = limit


class RunError(Exception):
    """A form cannot be evaluated with these values."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.at: int | None = None

    def locate(self, at: int) -> None:
        """The innermost form that sees the error is where it happened."""
        if self.at is None:
            self.at = at


class BudgetError(RunError):
    """The run used up one of its limits."""

    def __init__(self, limit: str) -> None:
        super().__init__(f"it reached its {limit} limit")
        self.limit = limit
