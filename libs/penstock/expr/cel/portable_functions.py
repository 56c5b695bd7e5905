"""The operators and conversions of the portable engine, as CEL defines them.

`cel-python` lets Python decide in places where CEL has rules of its own: `1 == 1.0`, `null == 1`, `'a' in [1]`,
`1 + 1.0`, `xs[-1]`, `string(80.0)`. These replace its functions by name.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final, TypeAlias

from celpy import celtypes
from celpy.evaluation import CELEvalError

from penstock.expr.regex import linear_regex
from penstock.expr.values import EPOCH

_Value: TypeAlias = Any  # cel-python's values have no common base
_Operator: TypeAlias = Callable[[_Value, _Value], _Value]

_NUMBERS: Final = (celtypes.IntType, celtypes.UintType, celtypes.DoubleType)
_SIZED: Final = (celtypes.StringType, celtypes.BytesType, celtypes.ListType, celtypes.MapType)
_KEYS: Final = (celtypes.StringType, celtypes.BoolType, *_NUMBERS)
_TIMES: Final = (celtypes.TimestampType, celtypes.DurationType)
_PRINTABLE: Final = ("bool", "bytes", "double", "int", "string", "uint")
_WRAP: Final = {float: celtypes.DoubleType, str: celtypes.StringType, list: celtypes.ListType}
_DECIMAL: Final = re.compile(r"\s*[+-]?\d+\s*")
_FIXED_BELOW: Final = 6
_FIXED_ABOVE: Final = -4


def _strict(apply: _Operator) -> _Operator:
    """An error operand is the result."""

    def checked(left: _Value, right: _Value) -> _Value:
        for operand in (left, right):
            if isinstance(operand, CELEvalError):
                return operand
        return apply(left, right)

    return checked


def _arithmetic(symbol: str, apply: _Operator, types: tuple[type, ...]) -> _Operator:
    def calculate(left: _Value, right: _Value) -> _Value:
        moments = _is_time(left) and _is_time(right)
        if not moments and (type(left) is not type(right) or not isinstance(left, types)):
            return _no_overload(symbol, left, right)
        result = apply(left, right)
        return _WRAP.get(type(result), lambda same: same)(result)

    return _strict(calculate)


def _divide(left: _Value, right: _Value) -> _Value:
    if not isinstance(left, celtypes.DoubleType) or right != celtypes.DoubleType(0.0):
        return left / right
    if left == celtypes.DoubleType(0.0) or left != left:  # noqa: PLR0124 - NaN
        return celtypes.DoubleType("nan")
    return celtypes.DoubleType(float("inf") * (1 if (float(left) > 0) == (str(float(right))[0] != "-") else -1))


def _order(symbol: str, apply: Callable[[Any, Any], bool]) -> _Operator:
    def compare(left: _Value, right: _Value) -> _Value:
        if _is_number(left) and _is_number(right):
            return celtypes.BoolType(apply(_number(left), _number(right)))
        comparable = (celtypes.BoolType, celtypes.StringType, celtypes.BytesType, datetime, timedelta)
        if type(left) is not type(right) or not isinstance(left, comparable):
            return _no_overload(symbol, left, right)
        if isinstance(left, celtypes.BoolType):
            return celtypes.BoolType(apply(bool(left), bool(right)))
        return celtypes.BoolType(apply(left, right))

    return _strict(compare)


def _equal(left: _Value, right: _Value) -> bool:
    if _is_number(left) and _is_number(right):
        return bool(_number(left) == _number(right))
    if isinstance(left, celtypes.ListType) and isinstance(right, celtypes.ListType):
        return len(left) == len(right) and all(map(_equal, left, right))
    if isinstance(left, celtypes.MapType) and isinstance(right, celtypes.MapType):
        return len(left) == len(right) and all(
            any(_equal(value, right[match]) for match in _matching_keys(right, key)) for key, value in left.items()
        )
    if isinstance(left, type) or left is None or type(left) is not type(right):
        return left is right
    return bool(left == right)


def _contained(item: _Value, container: _Value) -> _Value:
    if isinstance(container, celtypes.ListType):
        return celtypes.BoolType(any(_equal(item, other) for other in container))
    if isinstance(container, celtypes.MapType) and isinstance(item, _KEYS):
        return celtypes.BoolType(bool(_matching_keys(container, item)))
    return _no_overload("in", item, container)


def _item(container: _Value, key: _Value) -> _Value:
    if isinstance(container, celtypes.MapType) and isinstance(key, _KEYS):
        found = _matching_keys(container, key)
        return container[found[0]] if found else failed(f"Key not found in map : {key!s}")
    if isinstance(container, celtypes.ListType) and _is_number(key) and _number(key) == int(_number(key)):
        at = int(_number(key))
        if not 0 <= at < len(container):
            return failed(f"Index error: index={at} size={len(container)}")
        return container[at]
    return _no_overload("[]", container, key)


def _matching_keys(container: _Value, key: _Value) -> list[_Value]:
    """Numbers are equal across types, also as keys; data from JSON has none but strings."""
    if isinstance(key, celtypes.StringType):
        return [key] if key in container else []
    return [known for known in container if _equal(known, key)]


def both(decides: bool) -> _Operator:
    """`&&` is settled by false, `||` by true, from either side; an error only counts when neither does."""

    def combine(left: _Value, right: _Value) -> _Value:
        for operand in (left, right):
            if isinstance(operand, celtypes.BoolType) and bool(operand) is decides:
                return operand
        for operand in (left, right):
            if not isinstance(operand, celtypes.BoolType):
                return operand if isinstance(operand, CELEvalError) else _no_overload("&& ||", operand)
        return celtypes.BoolType(not decides)

    return combine


def _choose(test: _Value, then: _Value, otherwise: _Value) -> _Value:
    if isinstance(test, CELEvalError):
        return test
    if not isinstance(test, celtypes.BoolType):
        return _no_overload("?:", test, then)
    return then if test else otherwise


def _negate(value: _Value) -> _Value:
    if isinstance(value, CELEvalError):
        return value
    if not isinstance(value, celtypes.IntType | celtypes.DoubleType):
        return _no_overload("-", value)
    return -value


def _size(value: _Value) -> _Value:
    if not isinstance(value, _SIZED):
        return _no_overload("size", value)
    return celtypes.IntType(len(value))


def _text(name: str, test: Callable[[str, str], _Value]) -> _Operator:
    def apply(text: _Value, part: _Value) -> _Value:
        if not (isinstance(text, celtypes.StringType) and isinstance(part, celtypes.StringType)):
            return _no_overload(name, text, part)
        return test(text, part)

    return _strict(apply)


def _matches(text: _Value, pattern: _Value) -> _Value:
    try:
        return celtypes.BoolType(linear_regex(pattern).search(text) is not None)
    except ValueError as error:
        return failed(f"invalid regular expression: {error}")


def _conversion(name: str, convert: Callable[[_Value], _Value], *types: type) -> Callable[[_Value], _Value]:
    def apply(value: _Value) -> _Value:
        if isinstance(value, CELEvalError):
            return value
        if type(value) not in types:
            return _no_overload(name, value)
        try:
            return convert(value)
        except (ArithmeticError, TypeError, ValueError):
            return failed(f"cannot convert {value} to {name}")

    return apply


def _to_int(value: _Value) -> _Value:
    if isinstance(value, celtypes.StringType) and not _DECIMAL.fullmatch(value):
        raise ValueError
    if isinstance(value, celtypes.DoubleType) and not -(2**63) < float(value) < 2**63:
        raise OverflowError
    return celtypes.IntType(value)


def _to_uint(value: _Value) -> _Value:
    if isinstance(value, celtypes.StringType) and not _DECIMAL.fullmatch(value):
        raise ValueError
    return celtypes.UintType(int(value))


def _to_bool(value: _Value) -> _Value:
    texts = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
    if not isinstance(value, celtypes.StringType):
        return value
    if value.lower() not in texts:
        raise ValueError
    return celtypes.BoolType(texts[value.lower()])


def _to_string(value: _Value) -> _Value:
    match value:
        case celtypes.BoolType():
            text = "true" if value else "false"
        case celtypes.DoubleType():
            text = _shortest(float(value))
        case celtypes.BytesType():
            text = value.decode()
        case datetime():
            text = value.isoformat().replace("+00:00", "Z")
        case celtypes.DurationType():
            text = f"{value.total_seconds():.3f}s".replace(".000s", "s")
        case _:
            text = str(value)
    return celtypes.StringType(text)


def _shortest(number: float) -> str:
    """As C++ prints it: the digits that matter, scientific from a million up."""
    exact = Decimal(repr(number))
    if not exact.is_finite() or not exact:
        return str(number).removesuffix(".0")
    digits = len(exact.normalize().as_tuple().digits)
    scientific = f"{number:.{digits - 1}e}"
    exponent = int(scientific.partition("e")[2])
    fixed = _FIXED_ABOVE <= exponent < _FIXED_BELOW
    return format(exact.normalize(), "f") if fixed else scientific


def _to_timestamp(value: _Value) -> _Value:
    if isinstance(value, celtypes.IntType):
        return celtypes.TimestampType(EPOCH + timedelta(seconds=int(value)))
    if isinstance(value, celtypes.StringType) and "T" not in value:
        raise ValueError
    return celtypes.TimestampType(value)


def _to_duration(value: _Value) -> _Value:
    if isinstance(value, celtypes.StringType) and "d" in value:
        raise ValueError  # the library knows days, CEL does not
    return celtypes.DurationType(value)


def _milliseconds(moment: _Value, zone: _Value = None) -> _Value:
    if isinstance(moment, celtypes.DurationType):
        return celtypes.IntType(moment.microseconds // 1000)
    return moment.getMilliseconds(zone)


def _type(value: _Value) -> type:
    return celtypes.TypeType if isinstance(value, type) else type(value)


def _is_number(value: _Value) -> bool:
    return isinstance(value, _NUMBERS)


def _number(value: _Value) -> int | float:
    return float(value) if isinstance(value, float) else int(value)


def _is_time(value: _Value) -> bool:
    return isinstance(value, _TIMES)


def failed(reason: str) -> CELEvalError:
    """An error as a value: operators pass it on, `&&` and `||` may do without it."""
    return CELEvalError(reason, TypeError, None)


def _no_overload(symbol: str, *operands: _Value) -> CELEvalError:
    names = (type(value).__name__.removesuffix("Type").lower() for value in operands)
    return failed(f"No matching overloads found : {symbol}({', '.join(names)})")


TYPES: Final[dict[str, type]] = {
    "bool": celtypes.BoolType,
    "bytes": celtypes.BytesType,
    "double": celtypes.DoubleType,
    "int": celtypes.IntType,
    "list": celtypes.ListType,
    "map": celtypes.MapType,
    "null_type": type(None),
    "string": celtypes.StringType,
    "type": celtypes.TypeType,
    "uint": celtypes.UintType,
}

FUNCTIONS: Final[dict[str, Callable[..., _Value]]] = {
    "_==_": _strict(lambda left, right: celtypes.BoolType(_equal(left, right))),
    "_!=_": _strict(lambda left, right: celtypes.BoolType(not _equal(left, right))),
    "_<_": _order("<", operator.lt),
    "_<=_": _order("<=", operator.le),
    "_>_": _order(">", operator.gt),
    "_>=_": _order(">=", operator.ge),
    "_in_": _strict(_contained),
    "_[_]": _strict(_item),
    "_+_": _arithmetic("+", operator.add, (*_NUMBERS, celtypes.StringType, celtypes.ListType, celtypes.BytesType)),
    "_-_": _arithmetic("-", operator.sub, _NUMBERS),
    "_*_": _arithmetic("*", operator.mul, _NUMBERS),
    "_/_": _arithmetic("/", _divide, _NUMBERS),
    "_%_": _arithmetic("%", operator.mod, (celtypes.IntType, celtypes.UintType)),
    "_&&_": both(decides=False),
    "_||_": both(decides=True),
    "_?_:_": _choose,
    "-_": _negate,
    "size": _size,
    "contains": _text("contains", lambda text, part: celtypes.BoolType(part in text)),
    "startsWith": _text("startsWith", lambda text, part: celtypes.BoolType(text.startswith(part))),
    "endsWith": _text("endsWith", lambda text, part: celtypes.BoolType(text.endswith(part))),
    "matches": _text("matches", _matches),
    "int": _conversion("int", _to_int, *_NUMBERS, celtypes.StringType, celtypes.TimestampType),
    "uint": _conversion("uint", _to_uint, *_NUMBERS, celtypes.StringType),
    "double": _conversion("double", celtypes.DoubleType, *_NUMBERS, celtypes.StringType),
    "bool": _conversion("bool", _to_bool, celtypes.BoolType, celtypes.StringType),
    "string": _conversion("string", _to_string, *(TYPES[name] for name in _PRINTABLE), *_TIMES),
    "bytes": _conversion("bytes", celtypes.BytesType, celtypes.StringType, celtypes.BytesType),
    "timestamp": _conversion("timestamp", _to_timestamp, celtypes.StringType, celtypes.IntType, celtypes.TimestampType),
    "duration": _conversion("duration", _to_duration, celtypes.StringType, celtypes.DurationType),
    "type": _type,
    "getMilliseconds": _milliseconds,
}
