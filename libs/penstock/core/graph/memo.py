"""Work that need not be done twice: the key of a memoized node is what it does and what it was given."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, TypeAlias

import msgspec

from penstock.core.model.graph import NodeRule

Json: TypeAlias = Any

_encode = msgspec.json.Encoder(order="deterministic").encode


def memoized(rule: NodeRule) -> bool:
    """Where the result also names the way, an output alone is not enough."""
    return rule.memoize and rule.agent is None


def memo_key(rule: NodeRule, given: Json) -> str:
    """The same for the same work, whatever run, node or version of a workflow it is in."""
    return sha256(_encode([rule.type, rule.config, rule.config_ref, rule.output_schema, given])).hexdigest()
