"""Whether what an expression reads can be there: the variable, the node, and somebody who wrote it before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from penstock.core.definition.expressions import Use
from penstock.core.definition.language import Json, Node
from penstock.core.definition.problem import Code, Problems
from penstock.core.definition.read import Written
from penstock.core.definition.scopes import Scopes
from penstock.core.definition.shape import Shape
from penstock.core.model.evaluate import Path as Read
from penstock.core.model.graph import JoinRule

_OPERATIONS: Final = frozenset({"set", "append", "delete"})
_SCALARS: Final = frozenset({"string", "number", "integer", "boolean", "null"})
_OPEN: Final = frozenset({"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "patternProperties"})


class DataFlow:
    def __init__(
        self,
        written: Written,
        shape: Shape,
        scopes: Scopes,
        groups: Mapping[str, JoinRule | None],
        problems: Problems,
    ) -> None:
        self._written = written
        self._nodes = written.nodes
        self._shape = shape
        self._scopes = scopes
        self._groups = groups
        self._problems = problems
        self._joining = {rule.target for rule in groups.values() if rule}
        self._exact: dict[Read, int] = {}
        """Who writes a path, as bits."""
        self._inside: dict[Read, int] = {}
        """Who writes something below it."""
        self._note_writes()

    def check(self, uses: Iterable[Use]) -> None:
        for use in uses:
            if use.node is not None and not self._scopes.stacks[use.node]:
                continue  # nothing leads there, which is reported
            for read in sorted(use.reads):
                self._check(use, read)

    def _check(self, use: Use, read: Read) -> None:
        root, path = read[0], read[1:]
        if root not in use.roots or not self._exists(root, use.node):
            message = f"`{root}` does not exist here"
            self._problems.error(Code.ROOT_UNAVAILABLE, use.path, message, _why(root))
        elif root == "nodes" and path:
            self._check_node(use, path)
        elif root in {"_branches", "_errors"} and path:
            if path[0] not in self._groups:
                hint = self._problems.did_you_mean(path[0], self._groups)
                self._problems.error(Code.READ_UNKNOWN, use.path, f"there is no group `{path[0]}`", hint)
        elif root == "state" and path and path[0] != "_last_error":
            self._check_schema(use, read, path, self._written.definition.state_schema)
            if not self._written_before(use, path):
                message = f"`state.{'.'.join(path)}` is read, and no node before can have written it"
                hint = "inside a branch, outputs go to `_branch.output` until the join merges them"
                self._problems.warn(Code.READ_UNWRITTEN, use.path, message, hint)
        elif root == "input":
            self._check_schema(use, read, path, self._written.definition.input_schema)
        elif root == "output" and use.node is not None:
            self._check_schema(use, read, path, self._nodes[use.node].output_schema)

    def _exists(self, root: str, node: str | None) -> bool:
        if root == "_branch":
            return node is not None and self._scopes.in_branch(node)
        if root == "loop":
            return node is not None and node in self._shape.taken.cyclic
        return True

    def _check_node(self, use: Use, path: Read) -> None:
        name = path[0]
        if name not in self._nodes:
            hint = self._problems.did_you_mean(name, self._nodes)
            self._problems.error(Code.READ_UNKNOWN, use.path, f"there is no node `{name}`", hint)
            return
        if path[1:] and path[1] not in {"output", "metadata"}:
            message = f"`nodes.{name}` has no `{path[1]}`"
            self._problems.error(Code.READ_UNKNOWN, use.path, message, f"`nodes.{name}.output.{path[1]}`, perhaps")
        elif path[1:2] == ("output",):
            self._check_schema(use, ("nodes", *path), path[2:], self._nodes[name].output_schema)
        if not self._scopes.sees(use.node, name):
            message = f"the output of `{name}` is read where its branch is closed, and gone with it"
            hint = "merge it at the join; the run's `output` also has `_branches.<group>`"
            self._problems.warn(Code.READ_UNWRITTEN, use.path, message, hint)
        if use.node is None:
            return
        own = name == use.node and not use.completed and name not in self._shape.taken.cyclic
        if own or not self._shape.taken.is_before(name, use.node):
            message = f"the output of `{name}` is read on `{use.node}`, and `{name}` never comes before it"
            self._problems.warn(Code.READ_UNWRITTEN, use.path, message)

    def _check_schema(self, use: Use, read: Read, path: Read, schema: Json) -> None:
        if forbids(schema, path):
            message = f"the schema leaves no room for `{'.'.join(read)}`"
            self._problems.error(Code.SCHEMA_FORBIDS, use.path, message)

    def _written_before(self, use: Use, path: Read) -> bool:
        if path[0] in (self._written.definition.state or {}):
            return True
        writers = self._inside.get(path, 0)
        for length in range(1, len(path) + 1):
            writers |= self._exact.get(path[:length], 0)
        if use.node is None:
            return bool(writers)
        before = self._shape.taken.before(use.node)
        early = use.completed or use.node in self._joining or use.node in self._shape.taken.cyclic
        return bool(writers & (before if early else before & ~(1 << self._shape.index[use.node])))

    def _note_writes(self) -> None:
        for name, node in self._nodes.items():
            if node.enabled and not self._scopes.only_in_branches(name):
                for path in written_by(node):
                    self._note(name, path)
        for rule in self._groups.values():
            if rule and rule.merge.target and not self._scopes.only_in_branches(rule.target):
                self._note(rule.target, tuple(rule.merge.target.split(".")))

    def _note(self, name: str, path: Read) -> None:
        bit = 1 << self._shape.index[name]
        self._exact[path] = self._exact.get(path, 0) | bit
        for length in range(1, len(path)):
            self._inside[path[:length]] = self._inside.get(path[:length], 0) | bit


def written_by(node: Node) -> Iterator[Read]:
    """The paths that a node's output mapping sets or appends to."""
    mapping = node.output
    if not isinstance(mapping, dict):
        return
    by_op = mapping if mapping and mapping.keys() <= _OPERATIONS else {"set": mapping}
    for op in ("set", "append"):
        fields = by_op.get(op, {})
        for target in fields if isinstance(fields, dict) else ():
            yield tuple(target.removeprefix("state.").split("."))


def forbids(schema: Json, path: Read) -> bool:
    """Whether a value that satisfies the schema can never have this path. Says no where that is not plain."""
    for step in path:
        if not isinstance(schema, dict) or schema.keys() & _OPEN:
            return False
        kinds = schema.get("type", "object")
        if {kinds} <= _SCALARS if isinstance(kinds, str) else bool(kinds) and set(kinds) <= _SCALARS:
            return True
        properties = schema.get("properties", {})
        if not isinstance(properties, dict):
            return False
        if step not in properties:
            return schema.get("additionalProperties") is False and kinds == "object"
        schema = properties[step]
    return False


def _why(root: str) -> str:
    return {
        "_branch": "it exists inside a group: `foreach`, `spawn`, `group` or `fan_out: all` open one",
        "_branches": "only the run's `output` sees it",
        "loop": "it exists on nodes of a loop",
        "output": "the node has not run yet; `nodes.<id>.output` is another node's",
    }.get(root, "")
