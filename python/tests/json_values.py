"""Values of lines of NDJSON, as `exact` gives those of the columns that were written."""

import json
import re
import struct
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
from exact_values import PER_S, number

DAY_S = 86_400
CALENDAR_DAYS = 146_097
"""The days of 400 years, after which the calendar repeats itself."""

NO_CALENDAR = re.compile(r"(-?\d+) \((s|ms|us|ns|days), out of any calendar\)")
DATE = re.compile(r"([+-]?\d+)-(\d\d)-(\d\d)")
CLOCK = re.compile(r"(\d\d):(\d\d):(\d\d)(\.\d+)?")
OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)")
SPAN = re.compile(r"(-)?(?:(\d+)d )?(.*)")
INTERVAL = re.compile(r"(?:(-?\d+)mo)? ?(?:(-?\d+)d)? ?(?:(-?\d+)ns)?")


def rows(file: bytes) -> list[dict[str, Any]]:
    """The rows, with all digits of their numbers."""
    return [
        json.loads(line, parse_int=Decimal, parse_float=Decimal, parse_constant=refuse)
        for line in file.decode().splitlines()
    ]


def refuse(constant: str) -> None:
    raise ValueError(constant)


def value(kind: pa.DataType, found: Any) -> Any:
    """The value of that type that JSON writes so."""
    if found is None:
        return None
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return value(kind.value_type, found)
    if pa.types.is_struct(kind):
        return tuple(value(field.type, found[field.name]) for field in kind)
    if pa.types.is_map(kind):
        return tuple((key, value(kind.item_type, item)) for key, item in found)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return tuple(value(kind.value_type, item) for item in found)
    is_known = (read for is_type, read in SCALARS if is_type(kind))
    return next(is_known)(kind, found)


def floating(kind: pa.DataType, found: Decimal | str) -> Any:
    form = {16: "<e", 32: "<f", 64: "<d"}[kind.bit_width]
    return number(struct.unpack(form, struct.pack(form, float(found)))[0])


def exact_number(_: pa.DataType, found: Any) -> Any:
    assert isinstance(found, Decimal), found
    return Fraction(found)


def is_bytes(kind: pa.DataType) -> bool:
    binary = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    return any(is_type(kind) for is_type in binary)


def clock(text: str) -> Fraction:
    hours, minutes, seconds, part = matched(CLOCK, text).groups()
    return Fraction(int(hours) * 3600 + int(minutes) * 60 + int(seconds)) + Fraction(part or 0)


def matched(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    found = pattern.fullmatch(text)
    assert found, text
    return found


def span(_: pa.DataType, text: str) -> Fraction:
    sign, days, rest = matched(SPAN, text).groups()
    return (clock(rest) + int(days or 0) * DAY_S) * (-1 if sign else 1)


def day(text: str) -> int:
    year, month, day_of_month = map(int, matched(DATE, text).groups())
    cycles, year = divmod(year, 400)
    of_cycle = date(year + 400, month, day_of_month).toordinal() - date(400, 1, 1).toordinal()
    begin = date(400, 1, 1).toordinal() - CALENDAR_DAYS - date(1970, 1, 1).toordinal()
    return begin + cycles * CALENDAR_DAYS + of_cycle


def instant(kind: pa.DataType, text: str) -> Fraction:
    if count := NO_CALENDAR.fullmatch(text):
        return Fraction(int(count[1])) / PER_S.get(count[2], Fraction(1, DAY_S))
    date_text, _, rest = text.partition(" ")
    seconds = Fraction(day(date_text) * DAY_S)
    if rest:
        time_text = re.match(r"[\d:.]+", rest)[0]
        zone = rest[len(time_text) :]
        seconds += clock(time_text)
        if zone not in ("", "Z"):
            sign, hours, minutes = matched(OFFSET, zone).groups()
            seconds -= (int(hours) * 3600 + int(minutes) * 60) * (1 if sign == "+" else -1)
    return seconds


def interval(_: pa.DataType, text: str) -> tuple[int, ...]:
    return tuple(int(part or 0) for part in matched(INTERVAL, text).groups())


def as_is(kind: pa.DataType, found: Any) -> Any:
    assert isinstance(found, bool) == pa.types.is_boolean(kind), found
    return found


SCALARS: list[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType, Any], Any]]] = [
    (pa.types.is_floating, floating),
    (lambda kind: pa.types.is_integer(kind) or pa.types.is_decimal(kind), exact_number),
    (is_bytes, lambda _, text: bytes.fromhex(text)),
    (pa.types.is_time, lambda _, text: clock(text)),
    (pa.types.is_duration, span),
    (lambda kind: pa.types.is_timestamp(kind) or pa.types.is_date(kind), instant),
    (pa.types.is_interval, interval),
    (lambda _: True, as_is),
]
