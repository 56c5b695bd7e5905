"""The closures that compiled forms are made of. An error passing through a call learns where it happened."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.expr.ale.calls import TailCall, call
from penstock.expr.ale.faults import RunError
from penstock.expr.ale.values import (
    AROUND,
    METER,
    Builtin,
    Code,
    Frame,
    Keyword,
    Lambda,
    Pair,
    Value,
    as_key,
    wrong,
)


def constant(value: Value) -> Code:
    return lambda _: value


def variable(distance: int, slot: int) -> Code:
    if distance == 0:
        return lambda frame: frame[slot]
    if distance == 1:
        return lambda frame: frame[AROUND][slot]

    def outer(frame: Frame) -> Value:
        for _ in range(distance):
            frame = frame[AROUND]
        return frame[slot]

    return outer


def vector(items: Sequence[Code]) -> Code:
    return lambda frame: [item(frame) for item in items]


def pair(key: Code, value: Code) -> Code:
    return lambda frame: Pair(key(frame), value(frame))


def object_of(pairs: Sequence[tuple[Code, Code]], at: int) -> Code:
    def run(frame: Frame) -> Value:
        try:
            return {as_key(key(frame)): value(frame) for key, value in pairs}
        except RunError as error:
            error.locate(at)
            raise

    return run


def sequence(codes: Sequence[Code]) -> Code:
    """Evaluate in order, keep the last."""
    *firsts, last = codes
    if not firsts:
        return last

    def run(frame: Frame) -> Value:
        for code in firsts:
            code(frame)
        return last(frame)

    return run


def call_builtin(builtin: Builtin, arguments: Sequence[Code], at: int) -> Code:
    """The usual numbers of arguments get a closure each: this is where predicates spend their time."""
    function = builtin.function

    def run(frame: Frame) -> Value:
        try:
            return function(frame[METER], *[argument(frame) for argument in arguments])
        except RunError as error:
            error.locate(at)
            raise

    if len(arguments) == 1:
        (only,) = arguments

        def run_one(frame: Frame) -> Value:
            try:
                return function(frame[METER], only(frame))
            except RunError as error:
                error.locate(at)
                raise

        return run_one

    if len(arguments) == 2:  # noqa: PLR2004 - a pair
        left, right = arguments

        def run_two(frame: Frame) -> Value:
            try:
                return function(frame[METER], left(frame), right(frame))
            except RunError as error:
                error.locate(at)
                raise

        return run_two

    return run


def call_keyword(keyword: Keyword, target: Code, default: Code | None, at: int) -> Code:
    """`(:name object)`: the form that most programs are made of."""
    name = keyword.name

    def run(frame: Frame) -> Value:
        found = target(frame)
        if type(found) is dict:
            if default is None or name in found:
                return found.get(name)
            return default(frame)
        error = wrong(f"an object to look up :{name[:40]} in", found)
        error.locate(at)
        raise error

    return run


def call_any(procedure: Code, arguments: Sequence[Code], at: int) -> Code:
    def run(frame: Frame) -> Value:
        try:
            return call(frame[METER], procedure(frame), [argument(frame) for argument in arguments])
        except RunError as error:
            error.locate(at)
            raise

    return run


def tail_call(procedure: Code, arguments: Sequence[Code], at: int) -> Code:
    def run(frame: Frame) -> Value:
        try:
            called = procedure(frame)
            values = [argument(frame) for argument in arguments]
            if type(called) is not Lambda:
                return call(frame[METER], called, values)
            called.template.check(len(values))
            return TailCall(called, values)
        except RunError as error:
            error.locate(at)
            raise

    return run
