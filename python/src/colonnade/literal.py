"""Reads the values of predicates in the type in which a column is compared."""

from __future__ import annotations

import math
import re
import struct
from datetime import date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa

_MAX_DIGITS = 76
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_ZONE = r"(?P<zone>Z|[+-]\d\d:?\d\d)?"
_TIME = r"(?P<h>\d\d):(?P<m>\d\d)(?::(?P<s>\d\d)(?P<fraction>\.\d+)?)?"
_TIME_PATTERN = re.compile(_TIME)
_DATE = r"(?P<year>[+-]?\d{4,7})-(?P<month>\d\d)-(?P<day>\d\d)"
_INSTANT_PATTERN = re.compile(rf"{_DATE}(?:[T ]{_TIME})?\s*{_ZONE}")
_CALENDAR_YEARS, _CALENDAR_DAYS = 400, 146_097  # after which the calendar repeats itself
_EPOCH = date(1970, 1, 1).toordinal()


class Literal(NamedTuple):
    """A value of a predicate in a column's own type.

    Attributes:
        value: the value, or the largest value of the type below it.
        is_exact: whether the type has the value itself.

    """

    value: Any
    is_exact: bool


def read_literal(value: object, kind: pa.DataType) -> Literal:
    """Read the value of a predicate for a column of this plain type.

    Times and dates are integers in their unit, binary is bytes.

    Raises:
        ValueError: the value is not of the type; the message says what is expected.

    """
    if pa.types.is_boolean(kind):
        return Literal(_boolean(value), True)
    if pa.types.is_integer(kind):
        return Literal(_integer(value, kind), True)
    if pa.types.is_floating(kind):
        return Literal(_rounded(_float(value), kind), True)
    if pa.types.is_decimal(kind):
        return _decimal(value, kind)
    if is_text(kind):
        return Literal(_text(value), True)
    if not isinstance(value, str):
        raise ValueError("expected a text")
    if pa.types.is_timestamp(kind):
        return _floor(_instant(value, kind.tz) * _PER_SECOND[kind.unit])
    if pa.types.is_date(kind):
        seconds = _instant(value, None)
        return _floor(seconds / 86_400 if pa.types.is_date32(kind) else seconds * 1000)
    if pa.types.is_time(kind):
        match = _TIME_PATTERN.fullmatch(value)
        if match is None:
            raise ValueError("expected a time such as 12:30:00")
        return _floor(_seconds(match) * _PER_SECOND[kind.unit])
    if _is_binary(kind):
        return Literal(bytes.fromhex(value.removeprefix("0x")), True)
    return Literal(value, True)


def is_comparable(kind: pa.DataType) -> bool:
    """Whether the values of this plain type can be compared."""
    types = pa.types
    tests = (
        types.is_boolean, types.is_integer, types.is_floating, types.is_decimal, types.is_timestamp,
        types.is_date, types.is_time, _is_binary, is_text,
    )  # fmt: skip
    return any(test(kind) for test in tests)


def is_text(kind: pa.DataType) -> bool:
    """Whether the type is text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_binary(kind: pa.DataType) -> bool:
    types = pa.types
    tests = (types.is_binary, types.is_large_binary, types.is_fixed_size_binary)
    return any(test(kind) for test in tests)


def _boolean(value: object) -> bool:
    known = {True: True, False: False, "true": True, "false": False}
    if not isinstance(value, bool | str) or value not in known:
        raise ValueError("expected true or false")
    return known[value]


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float | Decimal):
        raise ValueError("expected a text")
    return str(value)


def _integer(value: object, kind: pa.DataType) -> int:
    number = _number(value)
    bits = kind.bit_width
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1)) if _is_signed(kind) else (0, 2**bits)
    if number.as_tuple().exponent != 0 and number != number.to_integral_value():
        raise ValueError("expected a whole number")
    if not low <= number < high:
        raise ValueError(f"expected a number from {low} to {high - 1}")
    return int(number)


def _is_signed(kind: pa.DataType) -> bool:
    return bool(pa.types.is_signed_integer(kind))


def _numeric(value: object) -> str | int | float | Decimal:
    """Return a number, or the text of one as all programs write it: Python takes more for one."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        raise ValueError("expected a number")
    if isinstance(value, str) and (not value.isascii() or "_" in value or value != value.strip()):
        raise ValueError("expected a number")
    return value


def _float(value: object) -> float:
    try:
        return float(_numeric(value))
    except (ValueError, OverflowError):
        raise ValueError("expected a number, inf or NaN") from None


def _rounded(number: float, kind: pa.DataType) -> float:
    """Round a number to a value of a type of floats."""
    form = {16: "e", 32: "f"}.get(kind.bit_width, "d")
    try:
        return float(struct.unpack(form, struct.pack(form, number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)


def _number(value: object) -> Decimal:
    try:
        number = Decimal(str(_numeric(value)))
    except InvalidOperation:
        raise ValueError("expected a number") from None
    if not number.is_finite():
        raise ValueError("expected a finite number")
    _, digits, exponent = number.as_tuple()
    if len(digits) > _MAX_DIGITS or abs(int(exponent)) > _MAX_DIGITS:
        raise ValueError(f"expected a number of at most {_MAX_DIGITS} digits")
    return number


def _decimal(value: object, kind: pa.DataType) -> Literal:
    scaled = _floor(Fraction(_number(value)) * Fraction(10) ** kind.scale)
    limit = 10**kind.precision
    # Beyond the type's range, a value is above or below all others, so its size does not matter.
    clamped = max(-limit, min(limit - 1, scaled.value))
    units = Literal(clamped, scaled.is_exact and clamped == scaled.value)
    return units


def _instant(text: str, zone: str | None) -> Fraction:
    """Return seconds since 1970 in UTC; a text without a zone is in the column's zone."""
    match = _INSTANT_PATTERN.fullmatch(text)
    if match is None:
        raise ValueError("expected a time such as 2024-07-01 12:00:00")
    year, month, day = int(match["year"]), int(match["month"]), int(match["day"])
    cycle, of_cycle = divmod(year - 2000, _CALENDAR_YEARS)
    days = date(2000 + of_cycle, month, day).toordinal() - _EPOCH + cycle * _CALENDAR_DAYS
    seconds = _seconds(match) if match["h"] else Fraction(0)
    local = days * 86_400 + seconds
    named = match["zone"] or zone
    if named is None:
        return local
    known_year = year if 1 < year < 9999 else 2000 + of_cycle
    clock = datetime(known_year, month, day) + timedelta(seconds=int(seconds))
    offset = clock.replace(tzinfo=_zone(named)).utcoffset() or timedelta(0)
    return local - int(offset.total_seconds())


def _zone(name: str) -> tzinfo:
    if name in {"Z", "UTC"}:
        return timezone.utc
    if re.fullmatch(r"[+-]\d\d:?\d\d", name):
        minutes = int(name[1:3]) * 60 + int(name[-2:])
        return timezone(timedelta(minutes=-minutes if name[0] == "-" else minutes))
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise ValueError(f"the zone {name} is unknown; expected a time with an offset") from None


def _seconds(match: re.Match[str]) -> Fraction:
    hours, minutes, seconds = int(match["h"]), int(match["m"]), int(match["s"] or 0)
    if hours > 23 or minutes > 59 or seconds > 59:
        raise ValueError("expected a time of day up to 23:59:59")
    fraction = Fraction((match["fraction"] and "0" + match["fraction"]) or 0)
    return hours * 3600 + minutes * 60 + seconds + fraction


def _floor(exact: Fraction) -> Literal:
    whole = exact.numerator // exact.denominator
    return Literal(whole, exact.denominator == 1)
