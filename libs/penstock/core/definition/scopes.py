"""Which groups are open on each node, and what each join therefore joins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from penstock.core.definition.duration import optional_milliseconds
from penstock.core.definition.language import Merge, MofN, Node, Synchronize
from penstock.core.definition.problem import Code, Path, Problems
from penstock.core.definition.read import Written
from penstock.core.definition.routes import Edge, Routes
from penstock.core.model.graph import JoinRule, MergeRule

Stack: TypeAlias = tuple[str, ...]
"""Open groups, the innermost last."""

MAX_NESTING: Final = 64
MAX_STACKS: Final = 16
"""Different nestings followed per node; a definition with more has long been reported."""


class Scopes:
    """Follows every way through the graph once per nesting it can be on."""

    def __init__(self, written: Written, routes: Routes, problems: Problems) -> None:
        self._nodes = written.nodes
        self._paths = written.paths
        self._routes = routes
        self._problems = problems
        self.stacks: dict[str, set[Stack]] = {name: set() for name in written.nodes}
        self._opened = {edge.group for edge in routes.all() if edge.group is not None}
        self._by_transition = {edge.id: edge.group for edge in routes.all() if edge.id}
        self._joined: dict[int, set[str]] = {}
        """By edge, what it was found to join."""
        self._skipped: set[int] = set()
        self._names = {id(edge): self._named_group(edge) for edge in routes.all() if edge.synchronize}

    def in_branch(self, node: str) -> bool:
        return any(self.stacks[node])

    def only_in_branches(self, node: str) -> bool:
        return bool(self.stacks[node]) and all(self.stacks[node])

    def sees(self, reader: str | None, other: str) -> bool:
        """On some way the other's scope is the reader's own or around it. None reads at the end of the run."""
        readers = {()} if reader is None else self.stacks[reader]
        around = {stack[:length] for stack in readers for length in range(len(stack) + 1)}
        return not self.stacks[other] or not around.isdisjoint(self.stacks[other])

    def joins(self, entries: Iterable[str]) -> dict[str, JoinRule | None]:
        """Every group with its join. Says on each edge which group it joins."""
        self._follow(entries)
        groups: dict[str, JoinRule | None] = dict.fromkeys(
            edge.group for edge in self._routes.all() if edge.group is not None
        )
        first: dict[str, Edge] = {}
        for edge in self._routes.all():
            names = self._joined.get(id(edge))
            if not names:
                continue
            if len(names) > 1:
                message = f"this joins one of {', '.join(sorted(names))}, by the way a token came"
                self._problems.error(Code.JOIN_AMBIGUOUS, _where(edge), message, "name the `group`")
            edge.joins = min(names)
            rule = self._rule(edge)
            if groups[edge.joins] is None or groups[edge.joins] == rule:
                groups[edge.joins] = rule
                first.setdefault(edge.joins, edge)
            else:
                other = first[edge.joins]
                message = f"the group `{edge.joins}` is joined on `{other.source}->{other.to}` too, in another way"
                hint = "one node joins a group, and all its synchronizations agree; `fan_in` on that node says it once"
                self._problems.error(Code.GROUP_JOINED_TWICE, _where(edge), message, hint)
        for name in dict.fromkeys(edge.to for edge in self._routes.all() if edge.joins):
            self._check_ways_in(name)
        self._check_counts(groups, first)
        return groups

    def _follow(self, entries: Iterable[str]) -> None:
        left: list[tuple[str, Stack]] = []
        for name in entries:
            self._enter(name, (), left)
        while left:
            name, stack = left.pop()
            for edge in self._routes.leaving[name]:
                after = stack
                if edge.group is not None and edge.group not in stack:
                    after = self._open(edge, stack)
                if edge.kind in {"transition", "error"} and self._join_of(edge) is not None:
                    after = self._join(edge, after)
                self._enter(edge.to, after, left)

    def _enter(self, name: str, stack: Stack, left: list[tuple[str, Stack]]) -> None:
        known = self.stacks[name]
        if stack not in known and len(known) < MAX_STACKS:
            known.add(stack)
            left.append((name, stack))

    def _open(self, edge: Edge, stack: Stack) -> Stack:
        if len(stack) < MAX_NESTING:
            return (*stack, str(edge.group))
        if id(edge) not in self._skipped:
            self._skipped.add(id(edge))
            message = f"more than {MAX_NESTING} groups are open inside each other"
            self._problems.error(Code.LIMIT_EXCEEDED, edge.path, message, "join some of them before")
        return stack

    def _join(self, edge: Edge, stack: Stack) -> Stack:
        name = self._names.get(id(edge))
        if name is None:
            if not stack:
                return stack
            name = stack[-1]
        if edge.group == name and id(edge) not in self._skipped:
            self._skipped.add(id(edge))
            message = f"this transition opens the group `{name}` and joins it"
            self._problems.error(Code.JOIN_AMBIGUOUS, _where(edge), message, "put a `pass` node between")
        self._joined.setdefault(id(edge), set()).add(name)
        if name not in stack:
            return stack
        if stack[-1] != name and id(edge) not in self._skipped:
            self._skipped.add(id(edge))
            message = f"`{name}` is joined while `{stack[-1]}`, opened inside it, is still open"
            self._problems.error(Code.JOIN_SKIPS_GROUP, _where(edge), message, f"join `{stack[-1]}` first")
        return stack[: stack.index(name)]

    def _join_of(self, edge: Edge) -> Synchronize | None:
        if edge.synchronize is not None:
            return edge.synchronize
        node = self._nodes[edge.to]
        if node.fan_in is None:
            return None
        return node.fan_in if isinstance(node.fan_in, Synchronize) else Synchronize(wait_for=node.fan_in)

    def _named_group(self, edge: Edge) -> str | None:
        """The group that a synchronization names, if it names one that exists."""
        written = edge.synchronize
        if written is None:
            return None
        path, name = _where(edge), written.group
        if written.joins_transition is not None:
            name = self._by_transition.get(written.joins_transition)
            path = (*path, "joins_transition")
            if name is None:
                message = f"no transition `{written.joins_transition}` opens a group"
                known = [key for key, group in self._by_transition.items() if group]
                hint = self._problems.did_you_mean(
                    written.joins_transition, known, "give it `foreach`, `spawn` or `group`"
                )
                self._problems.error(Code.GROUP_NOT_OPENED, path, message, hint)
        elif name is not None and name not in self._opened:
            hint = self._problems.did_you_mean(
                name, self._opened, "`foreach`, `spawn`, `group` or `fan_out: all` open one"
            )
            self._problems.error(Code.GROUP_NOT_OPENED, (*path, "group"), f"nothing opens a group `{name}`", hint)
        return name if name in self._opened else None

    def _rule(self, edge: Edge) -> JoinRule:
        node, sync = self._nodes[edge.to], self._join_of(edge) or Synchronize()
        needed = 0
        if sync.m_of_n is not None:
            needed = sync.m_of_n
        elif isinstance(sync.wait_for, MofN):
            needed = sync.wait_for.m_of_n
        elif sync.wait_for == "any":
            needed = 1
        return JoinRule(
            edge.to,
            needed,
            sync.on_sibling_failure,
            sync.on_early_complete or node.on_early_complete or "cancel",
            optional_milliseconds(sync.timeout),
            sync.on_timeout,
            sync.on_empty or ("fail" if needed else "complete"),
            _merge(sync, node),
        )

    def _check_ways_in(self, name: str) -> None:
        if self._nodes[name].fan_in is None:
            return
        for edge in self._routes.entering[name]:
            if edge.kind in {"timeout", "reject", "agent", "back"} and self.in_branch(edge.source):
                message = f"this leads straight to `{name}`, and only a transition can join its group"
                self._problems.error(Code.JOIN_AMBIGUOUS, edge.path, message, "put a `pass` node between")

    def check_opened(self) -> None:
        """Joins of the innermost group where no group can be open."""
        for name, node in self._nodes.items():
            entering = [edge for edge in self._routes.entering[name] if edge.kind in {"transition", "error"}]
            if node.fan_in is not None and self.stacks[name] and not any(edge.joins for edge in entering):
                path = (*self._paths[name], "fan_in")
                message = f"no group is open where `{name}` is reached"
                self._problems.error(
                    Code.GROUP_NOT_OPENED, path, message, "`foreach`, `spawn`, `group` or `fan_out: all` open one"
                )
            for edge in entering:
                innermost = (
                    edge.synchronize and edge.synchronize.group is None and edge.synchronize.joins_transition is None
                )
                if innermost and not edge.joins and self.stacks[edge.source]:
                    message = f"no group is open on `{edge.source}`"
                    self._problems.error(Code.GROUP_NOT_OPENED, _where(edge), message, "name the `group`")

    def _check_counts(self, groups: dict[str, JoinRule | None], first: dict[str, Edge]) -> None:
        """More arrivals asked for than there can be branches."""
        most: dict[tuple[str, str], float] = {}
        for edge in self._routes.all():
            if edge.group is not None:
                count = float("inf") if edge.foreach else 1 if edge.spawn is None else edge.spawn
                most[edge.group, edge.source] = most.get((edge.group, edge.source), 0) + count
        for (name, _), count in most.items():
            rule = groups[name]
            if rule and rule.needed > count:
                message = f"this waits for {rule.needed} branches of `{name}`, and there are {count:g}"
                self._problems.error(Code.JOIN_NEVER_MET, _where(first[name]), message, "ask for fewer")


def _where(edge: Edge) -> Path:
    return (*edge.path, "synchronize") if edge.synchronize is not None else edge.path


def _merge(sync: Synchronize, node: Node) -> MergeRule:
    written = sync.merge if sync.merge is not None else node.merge
    if written is None:
        return MergeRule()
    merge = written if isinstance(written, Merge) else Merge(strategy=written)
    strategy = "append" if merge.strategy == "collect" else merge.strategy
    target = merge.target.removeprefix("state.") if merge.target else None
    return MergeRule(strategy, target, merge.source, merge.key)
