"""Numbers: exact integers and ratios, floats that stay finite. Nothing overflows silently."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction

from penstock.expr.ale.equality import same
from penstock.expr.ale.family import Family
from penstock.expr.ale.faults import BudgetError, RunError
from penstock.expr.ale.limits import Meter
from penstock.expr.ale.reader import parse_number, whole
from penstock.expr.ale.values import NUMBERS, Value, as_index, describe, wrong

FAMILY = Family()

_RATIO_COST = 50  # steps: an operation on ratios takes that much longer than one on integers
_PARSE_COST, _PARSED_PER_STEP = 10, 8  # steps to read a number, and characters read per further step
_MOST_DIGITS = 15  # that a float can keep
_NO_DEFAULT = object()


def as_number(value: Value) -> Value:
    if type(value) in NUMBERS:
        return value
    raise wrong("a number", value)


def _checked(meter: Meter, number: Value) -> Value:
    """What arithmetic may give: integers of bounded size, ratios in lowest terms, finite floats."""
    kind = type(number)
    if kind is float:
        if math.isfinite(number):
            return number
        raise RunError("the number is out of range")
    if kind is Fraction:
        meter.spend(_RATIO_COST)
        number = whole(number)
        if type(number) is Fraction and number.denominator.bit_length() > meter.limits.bits:
            raise BudgetError("number size")
    if number.numerator.bit_length() > meter.limits.bits:
        raise BudgetError("number size")
    return number


def _apply(meter: Meter, operation: Callable[[Value, Value], Value], left: Value, right: Value) -> Value:
    if type(left) not in NUMBERS:
        raise wrong("a number", left)
    if type(right) not in NUMBERS:
        raise wrong("a number", right)
    try:
        return _checked(meter, operation(left, right))
    except ZeroDivisionError:
        raise RunError("division by zero") from None
    except OverflowError:
        raise RunError("the number is out of range") from None


def _divide(left: Value, right: Value) -> Value:
    if type(left) is int and type(right) is int:
        return Fraction(left, right)
    return left / right


def _fold(meter: Meter, operation: Callable[[Value, Value], Value], first: Value, rest: Sequence[Value]) -> Value:
    meter.spend(len(rest))
    for number in rest:
        first = _apply(meter, operation, first, number)
    return first


@FAMILY("+")
def _add(meter: Meter, *numbers: Value) -> Value:
    return _fold(meter, operator.add, 0, numbers)


@FAMILY("*")
def _multiply(meter: Meter, *numbers: Value) -> Value:
    return _fold(meter, operator.mul, 1, numbers)


@FAMILY("-")
def _subtract(meter: Meter, first: Value, *rest: Value) -> Value:
    return _fold(meter, operator.sub, first, rest) if rest else _apply(meter, operator.sub, 0, first)


@FAMILY("/")
def _quotient(meter: Meter, first: Value, *rest: Value) -> Value:
    return _fold(meter, _divide, first, rest) if rest else _apply(meter, _divide, 1, first)


@FAMILY("mod", "modulo")
def _modulo(meter: Meter, first: Value, second: Value, *rest: Value) -> Value:
    """The sign of the result is the sign of the divisor."""
    return _fold(meter, operator.mod, first, (second, *rest))


@FAMILY("inc")
def _increment(meter: Meter, number: Value) -> Value:
    return _apply(meter, operator.add, number, 1)


@FAMILY("dec")
def _decrement(meter: Meter, number: Value) -> Value:
    return _apply(meter, operator.sub, number, 1)


@FAMILY("abs")
def _absolute(_: Meter, number: Value) -> Value:
    return abs(as_number(number))


@FAMILY("min")
def _least(meter: Meter, first: Value, *rest: Value) -> Value:
    meter.spend(len(rest))
    return min(map(as_number, (first, *rest)))


@FAMILY("max")
def _greatest(meter: Meter, first: Value, *rest: Value) -> Value:
    meter.spend(len(rest))
    return max(map(as_number, (first, *rest)))


@FAMILY("floor")
def _floor(_: Meter, number: Value) -> Value:
    return math.floor(as_finite(number))


@FAMILY("ceil")
def _ceiling(_: Meter, number: Value) -> Value:
    return math.ceil(as_finite(number))


@FAMILY("round")
def _round(meter: Meter, number: Value, digits: Value = 0) -> Value:
    """Halves go away from zero, in decimal: 2.675 to two digits is 2.68, as on an invoice."""
    places = as_index(digits)
    if not 0 <= places <= _MOST_DIGITS:
        raise RunError(f"cannot round to {places} digits, only to 0 to {_MOST_DIGITS}")
    number = as_finite(number)
    if type(number) is int:
        return number
    scale = 10**places
    exact = abs(Fraction(Decimal(repr(number))) if type(number) is float else number) * scale
    rounded = Fraction(math.floor(exact + Fraction(1, 2)), scale) * (-1 if number < 0 else 1)
    meter.spend(3 * _RATIO_COST)
    return float(rounded) if places else int(rounded)


@FAMILY("int")
def _truncate(_: Meter, number: Value) -> int:
    return int(as_finite(number))


@FAMILY("float")
def _float(_: Meter, number: Value) -> float:
    try:
        return float(as_number(number))
    except OverflowError:
        raise RunError("the number is out of range") from None


@FAMILY("number")
def _number(meter: Meter, value: Value, default: Value = _NO_DEFAULT) -> Value:
    """Numbers as they are, strings as the reader would read them."""
    if type(value) in NUMBERS:
        return value
    number = None
    if type(value) is str:
        meter.spend(_PARSE_COST + len(value) // _PARSED_PER_STEP)
        number = parse_number(value.strip())
    if number is not None:
        return number
    if default is _NO_DEFAULT:
        raise RunError("the string is not a number") if type(value) is str else wrong("a number or a string", value)
    return default


def as_finite(value: Value) -> Value:
    if type(value) is float and not math.isfinite(value):
        raise RunError("the number is out of range")
    return as_number(value)


def _comparison(compare: Callable[[Value, Value], bool]) -> Callable[..., bool]:
    """Numbers with numbers, and, beyond Ale, strings with strings: ISO times compare as they should."""

    def holds(meter: Meter, first: Value, *rest: Value) -> bool:
        for value in rest:
            if type(first) in NUMBERS and type(value) in NUMBERS:
                if type(first) is Fraction or type(value) is Fraction:
                    meter.spend(_RATIO_COST)
            elif type(first) is str and type(value) is str:
                meter.scan(min(len(first), len(value)))
            else:
                raise RunError(f"cannot order {describe(first)} and {describe(value)}")
            if not compare(first, value):
                return False
            first = value
        return True

    return holds


FAMILY("<")(_comparison(operator.lt))
FAMILY("<=")(_comparison(operator.le))
FAMILY(">")(_comparison(operator.gt))
FAMILY(">=")(_comparison(operator.ge))


@FAMILY("=")
def _equal(meter: Meter, first: Value, *rest: Value) -> bool:
    as_number(first)
    meter.spend(len(rest))
    numbers = [as_number(number) for number in rest]  # all of them, before the first that differs
    return numbers.count(first) == len(numbers)


@FAMILY("!=")
def _unequal(meter: Meter, first: Value, *rest: Value) -> bool:
    return not _equal(meter, first, *rest)


@FAMILY("eq")
def _same(meter: Meter, first: Value, *rest: Value) -> bool:
    meter.spend(len(rest))
    for value in rest:  # noqa: SIM110 - a generator takes longer than most comparisons
        if not same(meter, first, value):
            return False
    return True


@FAMILY("!eq")
def _different(meter: Meter, first: Value, *rest: Value) -> bool:
    return not _same(meter, first, *rest)
