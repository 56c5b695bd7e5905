"""Procedures about procedures, and the one that gives up."""

from __future__ import annotations

from penstock.expr.ale.calls import call
from penstock.expr.ale.family import Family
from penstock.expr.ale.faults import RunError
from penstock.expr.ale.limits import Meter
from penstock.expr.ale.printing import plain
from penstock.expr.ale.values import PROCEDURES, Builtin, Value, as_items, wrong

FAMILY = Family()

_COMBINED_COST = 6  # steps of each call that a procedure made of others makes
_LONGEST_REASON = 500  # characters of a raised message that an error keeps


def _procedure(value: Value) -> Value:
    if type(value) in PROCEDURES:
        return value
    raise wrong("a procedure", value)


@FAMILY("apply")
def _apply(meter: Meter, procedure: Value, *arguments: Value) -> Value:
    """The last argument is a sequence of arguments."""
    if not arguments:
        raise RunError("apply takes a procedure and a sequence of arguments")
    *first, last = arguments
    spread = [*first, *as_items(meter, last)]
    meter.copy(len(spread))
    return call(meter, procedure, spread)


@FAMILY("partial")
def _partial(_: Meter, procedure: Value, *first: Value) -> Builtin:
    procedure = _procedure(procedure)

    def run(meter: Meter, *rest: Value) -> Value:
        meter.copy(len(first) + len(rest))
        meter.spend(_COMBINED_COST)
        return call(meter, procedure, (*first, *rest))

    return Builtin("partial", run, 0, None)


@FAMILY("comp")
def _compose(_: Meter, first: Value, *rest: Value) -> Builtin:
    """The first is called first, with all the arguments; each other with what the one before gave."""
    procedures = list(map(_procedure, (first, *rest)))

    def run(meter: Meter, *arguments: Value) -> Value:
        result = call(meter, procedures[0], arguments)
        for procedure in procedures[1:]:
            meter.spend(_COMBINED_COST)
            result = call(meter, procedure, (result,))
        return result

    return Builtin("comp", run, 0, None)


@FAMILY("juxt")
def _juxtapose(_: Meter, first: Value, *rest: Value) -> Builtin:
    """A vector of what each gives for the same arguments."""
    procedures = list(map(_procedure, (first, *rest)))

    def run(meter: Meter, *arguments: Value) -> list[Value]:
        meter.spend(_COMBINED_COST * len(procedures))
        return [call(meter, procedure, arguments) for procedure in procedures]

    return Builtin("juxt", run, 0, None)


@FAMILY("identity")
def _identity(_: Meter, value: Value) -> Value:
    return value


@FAMILY("constantly")
def _constantly(_: Meter, value: Value) -> Builtin:
    return Builtin("constantly", lambda _meter, *_arguments: value, 0, None)


@FAMILY("no-op")
def _no_op(_: Meter, *_arguments: Value) -> None:
    return None


@FAMILY("raise")
def _raise(meter: Meter, *message: Value) -> Value:
    raise RunError("".join(plain(meter, part) for part in message)[:_LONGEST_REASON] or "raised")
