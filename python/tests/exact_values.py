"""Values of Arrow arrays, in a form that is equal only for equal values of any type."""

from decimal import Decimal
from fractions import Fraction
from math import copysign
from typing import Any

import pyarrow as pa

PER_S = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def exact(array: Any) -> list[Any]:
    """The values; times of a clock as seconds, floats with their sign."""
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    kind = array.type
    if pa.types.is_dictionary(kind):
        values = exact(array.dictionary)
        return [None if at is None else values[at] for at in array.indices.to_pylist()]
    if pa.types.is_run_end_encoded(kind):
        return exact(array.values)
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind) or pa.types.is_time64(kind):
        return seconds(array.view(pa.int64()), PER_S[kind.unit])
    if pa.types.is_time32(kind):
        return seconds(array.view(pa.int32()), PER_S[kind.unit])
    if pa.types.is_date32(kind):
        return seconds(array.view(pa.int32()), Fraction(1, 86_400))
    if pa.types.is_date64(kind):
        return seconds(array.view(pa.int64()), 1000)
    if pa.types.is_map(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [tuple(exact(item.values)) if item.is_valid else None for item in array]
    if pa.types.is_fixed_size_list(kind):
        return exact(array.cast(pa.list_(kind.value_type)))
    if pa.types.is_struct(kind):
        rows = zip(*[exact(child) for child in array.flatten()], strict=True)
        valid = array.is_valid().to_pylist()
        return [row if there else None for row, there in zip(rows, valid, strict=True)]
    if pa.types.is_union(kind):
        members = [exact(array.field(at)) for at in range(kind.num_fields)]
        return [members[code][row] for row, code in enumerate(array.type_codes.to_pylist())]
    return [plain(value) for value in array.to_pylist()]


def seconds(counts: pa.Array, per_s: int | Fraction) -> list[Any]:
    return [None if count is None else Fraction(count) / per_s for count in counts.to_pylist()]


def plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return Fraction(value)
    if value is None or isinstance(value, (bool, int, str, bytes)):
        return value
    return tuple(value) if isinstance(value, pa.MonthDayNano) else number(float(value))


def number(value: float) -> Any:
    """A float with its sign; all NaN are one."""
    return "NaN" if value != value else (value, copysign(1, value))
