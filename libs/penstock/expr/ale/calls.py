"""Calling a procedure that is known only at run time: tail calls, lookups, and the depth they may reach."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from penstock.expr.ale.limits import Meter
from penstock.expr.ale.values import Builtin, Keyword, Lambda, Value, as_key, as_object, check_arity, wrong

BUILTIN_FRAMES = 4  # what a builtin may put on the Python stack before it calls back
BUILTIN_COST = 4  # steps of a call that the compiler did not see


class TailCall(Struct):
    """What a body returns instead of calling in tail position; `invoke` goes on with it, one frame lower."""

    procedure: Lambda
    arguments: Sequence[Value]


def call(meter: Meter, procedure: Value, arguments: Sequence[Value]) -> Value:
    kind = type(procedure)
    if kind is Lambda:
        procedure.template.check(len(arguments))
        return invoke(meter, procedure, arguments)
    if kind is Builtin:
        procedure.check(len(arguments))
        meter.spend(BUILTIN_COST)
        meter.enter(BUILTIN_FRAMES)
        try:
            return procedure.function(meter, *arguments)
        finally:
            meter.depth -= BUILTIN_FRAMES
    if kind is Keyword:
        check_arity(f":{procedure.name}", 1, 2, len(arguments))
        return look_up(arguments[0], procedure.name, *arguments[1:])
    if kind is dict:
        check_arity("an object", 1, 2, len(arguments))
        return look_up(procedure, as_key(arguments[0]), *arguments[1:])
    raise wrong("a procedure", procedure)


def invoke(meter: Meter, procedure: Lambda, arguments: Sequence[Value]) -> Value:
    """Run a lambda whose number of arguments has been checked, and the tail calls it ends in."""
    entered = meter.depth
    try:
        while True:
            template = procedure.template
            meter.depth = entered
            meter.enter(template.height)
            meter.spend(template.cost)
            result = template.body(template.frame(meter, procedure.around, arguments))
            if type(result) is not TailCall:
                return result
            procedure, arguments = result.procedure, result.arguments
    finally:
        meter.depth = entered


def look_up(target: Value, name: str, default: Value = None) -> Value:
    return as_object(target).get(name, default)
