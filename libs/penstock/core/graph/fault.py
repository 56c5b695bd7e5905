"""A node that cannot go on, as the parts of a decision tell each other."""

from __future__ import annotations

from typing import Any, TypeAlias

from penstock.core.graph.state import Token
from penstock.core.model.events import Fault

Json: TypeAlias = Any


class NodeFault(Exception):
    """The node just completed, or about to run, fails: routing, schema, mapping or limit."""

    def __init__(self, code: str, message: str, *, retryable: bool = False, **details: Json) -> None:
        super().__init__(code)
        self.code, self.message, self.retryable, self.details = code, message, retryable, details

    def fault(self, token: Token) -> Fault:
        return Fault(self.code, self.message, token.node, token.attempt, self.retryable, self.details)
