"""Both spellings to one list of edges: where a token can go from each node, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

import msgspec

from penstock.core.definition.language import Foreach, Json, Node, Synchronize, Targets, Transition
from penstock.core.definition.problem import Code, Path, Problems
from penstock.core.definition.read import Written
from penstock.core.model.graph import ForeachRule

Kind: TypeAlias = Literal["transition", "error", "back", "timeout", "reject", "agent", "dead"]
"""`back`, `timeout`, `reject`, `agent`: paths that a node names elsewhere. `dead`: written, but never taken."""


class Edge(msgspec.Struct):
    kind: Kind
    source: str
    to: str
    path: Path
    id: str = ""
    when: Json = None
    when_path: Path = ()
    tier: int = 1
    default: bool = False
    group: str | None = None
    """The group it opens."""
    foreach: ForeachRule | None = None
    spawn: int | None = None
    synchronize: Synchronize | None = None
    joins: str | None = None
    """The group it joins, once that is known."""
    limit: int | None = None
    catches: bool = False
    """Its condition reads the last error: a candidate after a failure too."""


class Routes(msgspec.Struct, frozen=True):
    leaving: dict[str, list[Edge]]
    entering: dict[str, list[Edge]]

    def all(self) -> Iterator[Edge]:
        for edges in self.leaving.values():
            yield from edges


def targets(written: Targets | None) -> list[str]:
    return [written] if isinstance(written, str) else list(written or ())


def wire(written: Written, problems: Problems) -> Routes:
    """Edges whose ends do not exist are reported and left out."""
    explicit: dict[str, list[Edge]] = {name: [] for name in written.nodes}
    ids: dict[str, Path] = {}
    for transition, path in written.transitions:
        if transition.id is not None and ids.setdefault(transition.id, path) != path:
            hint = "give one of them another id"
            problems.error(Code.DUPLICATE_ID, path, f"there are two transitions `{transition.id}`", hint)
        if transition.source not in explicit:
            _unknown(transition.source, (*path, "from"), written, problems)
        elif transition.enabled:
            explicit[transition.source].append(_explicit(transition, path))
    leaving = {
        name: [
            edge
            for edge in _leaving(node, explicit[name], written.paths[name], problems)
            if _known(edge, written, problems)
        ]
        for name, node in written.nodes.items()
    }
    _add_dependencies(written, leaving, problems)
    entering: dict[str, list[Edge]] = {name: [] for name in written.nodes}
    for edges in leaving.values():
        for edge in edges:
            entering[edge.to].append(edge)
    routes = Routes(leaving, entering)
    for name, node in written.nodes.items():
        _open_groups(node, routes.leaving[name], ids)
    return routes


def _explicit(written: Transition, path: Path) -> Edge:
    foreach = written.foreach
    if foreach is not None and not isinstance(foreach, Foreach):
        foreach = Foreach(items=foreach)
    return Edge(
        "error" if written.on == "error" else "transition",
        written.source,
        written.to,
        path,
        id=written.id or "",
        when=written.when,
        when_path=(*path, "when"),
        tier=written.priority,
        default=written.default,
        group=written.group,
        foreach=ForeachRule(foreach.items, foreach.item, foreach.max_parallel) if foreach else None,
        spawn=written.spawn,
        synchronize=written.synchronize,
        limit=written.max_iterations,
    )


def _leaving(node: Node, explicit: list[Edge], path: Path, problems: Problems) -> Iterator[Edge]:
    plain = [edge for edge in explicit if edge.kind == "transition"]
    yield from (edge for edge in explicit if edge.kind == "error")
    branch = node.branch if node.branch and node.branch.enabled else None
    loop = node.loop if node.loop and node.loop.enabled and node.enabled else None
    if branch:
        yield from _branch(node, path)
        if plain:
            message = f"`{node.id}` has a branch, and transitions beside it"
            problems.error(
                Code.ROUTED_TWICE, (*path, "branch"), message, "keep one of them, or `on: error` transitions"
            )
        _warn_dead(targets(node.dependents), branch_targets(node), (*path, "dependents"), "the branch", problems)
    if loop:
        back = loop.loop_back_to or node.id
        yield Edge("back", node.id, back, (*path, "loop", "loop_back_to"), limit=loop.max_iterations or 0)
        yield from _plain("timeout", node.id, targets(loop.timeout_path), (*path, "loop", "timeout_path"))
    if loop and loop.break_path is not None:
        breaks, where = targets(loop.break_path), (*path, "loop", "break_path")
        if branch:
            yield from _plain("dead", node.id, breaks, where)
            problems.warn(Code.ROUTE_DEAD, where, "with a branch, `break_path` is never taken", "leave it out")
        else:
            wanted, known = set(breaks), {edge.to for edge in plain}
            yield from (edge for edge in plain if edge.to in wanted)
            missing = [name for name in breaks if name not in known]
            yield from _plain("transition", node.id, missing, where)
            dependents = [*targets(node.dependents), *(edge.to for edge in plain)]
            _warn_dead(dependents, breaks, (*path, "dependents"), "`break_path`", problems)
    elif not branch:
        yield from plain
        known = {edge.to for edge in plain}
        extra = [name for name in targets(node.dependents) if name not in known]
        yield from _plain("transition", node.id, extra, (*path, "dependents"))
    rejection = node.rejection_path if node.human is None else (node.human.rejection_path or node.rejection_path)
    yield from _plain("reject", node.id, targets(rejection), (*path, "rejection_path"))


def branch_targets(node: Node) -> list[str]:
    branch = node.branch
    if branch is None or not branch.enabled:
        return []
    rules = [name for rule in branch.rules for name in targets(rule.next_nodes)]
    return [*rules, *branch.available_next_nodes, *targets(branch.default)]


def _branch(node: Node, path: Path) -> Iterator[Edge]:
    branch = node.branch
    if branch is None:
        return
    if branch.type == "agent_driven":
        allowed, default = (*path, "branch", "available_next_nodes"), (*path, "branch", "default")
        yield from _plain("agent", node.id, branch.available_next_nodes, allowed)
        available = set(branch.available_next_nodes)
        extra = [name for name in targets(branch.default) if name not in available]
        yield from _plain("agent", node.id, extra, default)
        return
    for index, rule in enumerate(branch.rules):
        where: Path = (*path, "branch", "rules", index)
        for edge in _plain("transition", node.id, targets(rule.next_nodes), (*where, "next_nodes")):
            edge.when, edge.when_path, edge.tier = rule.condition, (*where, "condition"), index + 1
            yield edge
    for edge in _plain("transition", node.id, targets(branch.default), (*path, "branch", "default")):
        edge.default = True
        yield edge


def _plain(kind: Kind, source: str, names: Iterable[str], path: Path) -> Iterator[Edge]:
    for name in dict.fromkeys(names):
        yield Edge(kind, source, name, path)


def _warn_dead(written: list[str], taken: list[str], path: Path, instead: str, problems: Problems) -> None:
    known = set(taken)
    dead = [name for name in dict.fromkeys(written) if name not in known]
    if dead:
        message = f"`{'`, `'.join(dead)}` is never taken from here: {instead} decides"
        problems.warn(Code.ROUTE_DEAD, path, message)


def _add_dependencies(written: Written, leaving: dict[str, list[Edge]], problems: Problems) -> None:
    """`dependencies` alone also make an edge, unless the dependency decides itself where to go."""
    reached = {(edge.source, edge.to) for edges in leaving.values() for edge in edges}
    for name, node in written.nodes.items():
        for index, dependency in enumerate(node.dependencies):
            path: Path = (*written.paths[name], "dependencies", index)
            before = written.nodes.get(dependency)
            if before is None:
                _unknown(dependency, path, written, problems)
            elif (dependency, name) not in reached:
                loop = before.loop if before.loop and before.loop.enabled else None
                if (before.branch and before.branch.enabled) or (loop and loop.break_path is not None):
                    message = f"`{dependency}` never leads to `{name}`"
                    problems.warn(Code.ROUTE_DEAD, path, message, f"name `{name}` in the routes of `{dependency}`")
                    leaving[dependency].append(Edge("dead", dependency, name, path))
                else:
                    leaving[dependency].append(Edge("transition", dependency, name, path))


def _open_groups(node: Node, edges: list[Edge], taken: dict[str, Path]) -> None:
    """Name what has no name yet, and say which group each transition opens."""
    counts: dict[str, int] = {}
    for edge in edges:
        if edge.kind in {"transition", "error"} and not edge.id:
            edge.id = name = f"{edge.source}->{edge.to}"
            while edge.id in taken:
                counts[name] = counts.get(name, 1) + 1
                edge.id = f"{name}#{counts[name]}"
            taken[edge.id] = edge.path
        if edge.group is None and edge.kind == "transition" and node.fan_out == "all":
            edge.group = node.id
        if edge.group is None and (edge.foreach is not None or edge.spawn is not None):
            edge.group = edge.id


def _known(edge: Edge, written: Written, problems: Problems) -> bool:
    if edge.to in written.nodes:
        return True
    _unknown(edge.to, (*edge.path, "to") if edge.path[0] == "transitions" else edge.path, written, problems)
    return False


def _unknown(name: str, path: Path, written: Written, problems: Problems) -> None:
    problems.error(Code.UNKNOWN_NODE, path, f"there is no node `{name}`", problems.did_you_mean(name, written.nodes))
