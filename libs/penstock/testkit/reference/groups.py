"""Groups: opening branches, and what their join makes of those that arrived, ended and failed."""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

from penstock.core.model.evaluate import Change, Failure, apply_changes
from penstock.testkit.reference.data import View, store
from penstock.testkit.reference.merge import MergeType, merged
from penstock.testkit.reference.races import Past
from penstock.testkit.reference.route import RoutingFailed, Ways
from penstock.testkit.reference.scope import Arrival, Fault, Item, Scope, Token
from penstock.testkit.reference.script import Json
from penstock.testkit.reference.shape import Join

if TYPE_CHECKING:
    from penstock.testkit.reference.interpret import Run, Visit


class Groups:
    def __init__(self, run: Run) -> None:
        self._run = run

    def items(self, visit: Visit, ways: Ways, payload: Json) -> dict[str, list[Item]]:
        """The branches of every group that these ways open, by transition declaration, then item."""
        opened: dict[str, list[Item]] = {}
        for edge in sorted(ways, key=lambda edge: edge.order):
            if edge.group is None:
                continue
            items = opened.setdefault(edge.group, [])
            if edge.foreach is not None:
                values = visit.view.value(edge.foreach)
                if not isinstance(values, list):
                    raise RoutingFailed("FOREACH_NOT_A_LIST")
                items.extend(Item(value, edge.to, value, edge.item) for value in values)
            else:
                items.extend(Item(payload, edge.to) for _ in range(1 if edge.spawn is None else edge.spawn))
        return opened

    def open(self, visit: Visit, group: str, items: list[Item]) -> None:
        branches = []
        for index, item in enumerate(items):
            described = {
                "index": index,
                "total": len(items),
                "fan_out_node_id": visit.node.id,
                "group": group,
                "item": item.value,
            }
            branch = Scope(self._run.races, visit.scope, described, item.name)
            self._enter(visit, branch, item)
            self._run.settle(branch)
            branches.append(branch)
        if group in self._run.graph.joins:
            self._join(visit, group, branches)
        else:
            self._leave_unjoined(visit, group, branches)

    def _enter(self, visit: Visit, branch: Scope, item: Item) -> None:
        target = self._run.graph.nodes[item.target]
        if target.waits:
            arrival = Arrival(visit.node.id, item.payload, visit.past)
            self._run.named.arrive(branch, target, arrival, visit.event)
        else:
            branch.ready.append(Token(target.id, item.payload, visit.past, visit.view.error))

    def _leave_unjoined(self, visit: Visit, group: str, branches: list[Scope]) -> None:
        for branch in branches:
            visit.scope.faults.extend(branch.faults)
        self._run.branches[group] = [self._output(branch) for branch in branches]
        accesses = self._run.root.accesses
        accesses.write(("_branches", group), visit.event, visit.past | _events(branches), seen=False)

    def _join(self, visit: Visit, group: str, branches: list[Scope]) -> None:
        join, target = self._run.graph.joins[group]
        arrived = [branch for branch in branches if branch.arrivals and not branch.faults]
        if not branches:
            if join.empty_completes:
                self._fire(visit, group, [], visit.past)
            else:
                self._fail(visit.scope, target, Fault(None, target, visit.past))
        elif join.needed:
            self._join_some(visit, group, branches, arrived)
        elif not join.settle and any(branch.faults for branch in branches):
            faults = [fault for branch in branches for fault in branch.faults]
            fault = faults[self._run.choices.among(len(faults))]
            self._run.doomed |= _events(branches) & ~fault.past
            self._fail(visit.scope, target, Fault(None, target, fault.past, cause=fault))
        else:
            past, errors = self._settled(branches)
            if arrived or errors:
                past |= visit.past
                if join.settle:
                    visit.scope.accesses.write(("_errors", group), visit.event, past, seen=False)
                    visit.scope.errors[group] = errors
                self._fire(visit, group, arrived, past)

    def _settled(self, branches: list[Scope]) -> tuple[Past, list[Json]]:
        """Every branch is done; of each that failed, its first failure counts."""
        past, errors = 0, []
        for branch in branches:
            if not branch.faults:
                past |= branch.events
                continue
            fault = branch.faults[self._run.choices.among(len(branch.faults))]
            self._run.doomed |= branch.events & ~fault.past
            past |= fault.past
            errors.append({"index": branch.branch["index"], "item": branch.branch["item"], "error": fault.as_data()})
        return past, errors

    def _join_some(self, visit: Visit, group: str, branches: list[Scope], arrived: list[Scope]) -> None:
        """`any` and `m_of_n`: the schedule says which of those that would arrive are the first m."""
        join, target = self._run.graph.joins[group]
        if len(arrived) >= join.needed:
            chosen = self._run.choices.among(comb(len(arrived), join.needed))
            first = list(combinations(arrived, join.needed))[chosen]
            self._run.doomed |= _events([branch for branch in branches if branch not in first])
            self._fire(visit, group, list(first), visit.past | _events(list(first)))
            return
        lost = [branch for branch in branches if branch not in arrived]
        past = visit.past
        if len(branches) - len(lost) == join.needed - 1:
            # Each of the lost is needed to make it unreachable, so all of them ended before.
            past |= self._settled(lost)[0]
        self._run.doomed |= _events(branches) & ~past
        self._fail(visit.scope, target, Fault("JOIN_UNREACHABLE", target, past))

    def _fire(self, visit: Visit, group: str, arrived: list[Scope], past: Past) -> None:
        join, target = self._run.graph.joins[group]
        scope = visit.scope
        event = self._run.new_event(scope, past & ~self._run.doomed)
        past = self._run.pasts[event]
        try:
            value = self._merged(join, arrived, event, past)
        except MergeType:
            self._fail(scope, target, Fault("MERGE_TYPE", target, past))
            return
        if join.merge.target:
            change = (Change("set", tuple(join.merge.target.split(".")), value),)
            data = apply_changes(scope.data, change)
            if isinstance(data, Failure):
                self._run.races.report("the target of a merge is in the way of itself: the rules do not say what fails")
                return
            store(scope, data, change, event, past)
        scope.ready.append(Token(target, value, past))

    def _merged(self, join: Join, arrived: list[Scope], event: int, past: Past) -> Json:
        values, keys = [], []
        for branch in arrived:
            value: Json = self._output(branch)
            key: Json = branch.branch["index"]
            branch.data = value
            view = View(branch, self._run.input, event, past)
            if join.merge.source is not None:
                value = view.value(join.merge.source)
            if join.merge.key is not None:
                key = view.value(join.merge.key)
            if isinstance(value, Failure) or isinstance(key, Failure):
                self._run.races.report("a merge reads what a branch does not have: the rules do not say what fails")
                value, key = None, branch.branch["index"]
            values.append(value)
            keys.append(key)
        return merged(join.merge.strategy, values, keys)

    def _output(self, branch: Scope) -> Json:
        """What a mapping wrote, else what arrived; in an unjoined group, what ended there."""
        if branch.written:
            return branch.data
        if branch.parent and branch.group not in self._run.graph.joins:
            found = [(terminal.node, terminal.output) for terminal in self._run.terminals if terminal.scope is branch]
        else:
            found = [(arrival.source, arrival.payload) for arrival in branch.arrivals]
        if len(found) == 1:
            return found[0][1]
        found.sort(key=lambda pair: self._run.graph.nodes[pair[0]].order)
        if len(dict(found)) < len(found):
            self._run.races.report(f"{found[0][0]} arrived twice in one branch: the rules do not say how that is shown")
        return dict(found) if found else None

    def _fail(self, scope: Scope, target: str, fault: Fault) -> None:
        scope.ready.append(Token(target, None, fault.past, fault=fault))


def _events(branches: list[Scope]) -> Past:
    events = 0
    for branch in branches:
        events |= branch.events
    return events
